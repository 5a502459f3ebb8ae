#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_parts.h"
#include "sandbox/disk_spare.h"

void disk_spare_close(struct disk_spare *s)
{
	own_fd(&s->mount);
	own_fd(&s->image);
}

void disk_spares_close(struct disk_spares *s)
{
	while (s->nready > 0) {
		struct disk_spare *last = &s->ready[--s->nready];

		disk_loop_forsake(last->mount, s->images);
		disk_spare_close(last);
	}
	own_fd(&s->template_fd);
}

enum err disk_spare_make(int images, int template_fd, struct disk_spare *out,
			 struct errinfo *e)
{
	OWN(disk_spare_close) struct disk_spare n = {.image = -1, .mount = -1};
	enum err r = disk_image_copy(images, template_fd, &n.image, e);

	if (r == ERR_NONE && flock(n.image, LOCK_EX | LOCK_NB) < 0)
		r = err_set(e, ERR_IO, errno, "lock");
	if (r == ERR_NONE)
		r = disk_loop_mount(n.image, &n.mount, e);
	if (r == ERR_NONE && disk_parts_make(n.mount, BERTH_DISK_BASE) < 0)
		r = err_set(e, ERR_IO, errno, "directories of an image");
	if (r != ERR_NONE)
		return r;
	*out = n;
	n = (struct disk_spare){.image = -1, .mount = -1};
	return ERR_NONE;
}

static bool same(const struct disk_limits *a, const struct disk_limits *b)
{
	return a->bytes == b->bytes && a->inodes == b->inodes;
}

enum err disk_spare_take(struct disk_spares *s,
			 const struct disk_limits *limits,
			 struct disk_spare *out, struct errinfo *e)
{
	int template_fd = -1;
	enum err r;

	if (!same(&s->limits, limits) || s->template_fd < 0) {
		r = disk_image_template(s->templates, limits, &template_fd, e);
		if (r != ERR_NONE)
			return r;
		disk_spares_close(s);
		s->limits = *limits;
		s->template_fd = template_fd;
		s->generation++;
	}
	if (s->nready == 0)
		return disk_spare_make(s->images, s->template_fd, out, e);
	*out = s->ready[--s->nready];
	return ERR_NONE;
}

void disk_spare_give(struct disk_spares *s, struct disk_spare *spare,
		     uint32_t generation)
{
	if (generation == s->generation && s->nready < DISK_SPARES) {
		s->ready[s->nready++] = *spare;
		return;
	}
	disk_loop_forsake(spare->mount, s->images);
	disk_spare_close(spare);
}

bool disk_spare_refill(struct disk_spares *s)
{
	if (s->template_fd < 0 || s->nready == DISK_SPARES ||
	    disk_spare_make(s->images, s->template_fd, &s->ready[s->nready],
			    NULL) != ERR_NONE)
		return false;
	s->nready++;
	return s->nready < DISK_SPARES;
}
