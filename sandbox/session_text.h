/* session.bash, embedded by the build. */
#ifndef SANDBOX_SESSION_TEXT_H
#define SANDBOX_SESSION_TEXT_H

extern const char session_text[];

#endif
