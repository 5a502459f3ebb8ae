#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/image.h"
#include "store/ctl_sandbox.h"

#define NAMES_MAX 256 /* bytes that a failure may have of them */
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

static bool image_name_ok(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= CTL_SANDBOX_IMAGE_MAX &&
	       strspn(name, LETTERS) == n;
}

/* D/images, or -1. */
static int image_dir(const struct request *rq)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/images", rq->worker->data_dir);

	return n < 0 || (size_t)n >= sizeof(path)
		   ? -1
		   : open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

static bool image_is(int dir, const char *name)
{
	struct stat st;

	return image_name_ok(name) &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

bool image_there(const struct request *rq, const char *name)
{
	OWN(own_fd) int dir = image_dir(rq);

	return dir >= 0 && image_is(dir, name);
}

enum err image_unknown(struct request *rq, struct errinfo *e)
{
	OWN(buf_free) struct buf why = BUF_INIT(2 * NAMES_MAX);
	int fd = image_dir(rq);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	const char *comma = "; there are ";

	buf_adds(&why, "names no image of this service");
	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!image_is(fd, entry->d_name))
			continue;
		if (why.len > NAMES_MAX) {
			buf_adds(&why, " and more");
			break;
		}
		buf_adds(&why, comma);
		buf_adds(&why, entry->d_name);
		comma = ", ";
	}
	if (d != NULL)
		closedir(d);
	else
		own_fd(&fd);
	return err_http_field(rq, e, "image", buf_str(&why));
}
