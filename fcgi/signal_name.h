/* Signals as callers name them. */
#ifndef FCGI_SIGNAL_NAME_H
#define FCGI_SIGNAL_NAME_H

/** signal_name(text): "TERM", "SIGTERM", "15" -> 15; 0: there is none. */
int signal_name(const char *text);

#endif
