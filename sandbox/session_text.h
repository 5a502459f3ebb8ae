/* session.bash and session_process.bash, embedded by the build. */
#ifndef SANDBOX_SESSION_TEXT_H
#define SANDBOX_SESSION_TEXT_H

extern const char session_text[];
extern const char session_text_process[];

#endif
