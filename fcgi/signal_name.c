#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fcgi/signal_name.h"

int signal_name(const char *text)
{
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);
		char number[16];

		snprintf(number, sizeof(number), "%d", i);
		if (strcmp(text, number) == 0)
			return i;
		if (name != NULL && (strcasecmp(text, name) == 0 ||
				     (strncasecmp(text, "SIG", 3) == 0 &&
				      strcasecmp(text + 3, name) == 0)))
			return i;
	}
	return 0;
}
