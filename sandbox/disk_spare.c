#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_spare.h"

void disk_spare_close(struct disk_spare *s)
{
	own_fd(&s->mount);
	own_fd(&s->image);
}

void disk_spares_close(struct disk_spares *s)
{
	while (s->nready > 0)
		disk_spare_close(&s->ready[--s->nready]);
	while (s->nold > 0)
		disk_spare_close(&s->old[--s->nold]);
	own_fd(&s->template_fd);
}

void disk_spare_tidy(struct disk_spares *s)
{
	if (s->nold > 0)
		disk_spare_close(&s->old[--s->nold]);
}

static void put_away(struct disk_spares *s, struct disk_spare *spare)
{
	if (s->nold < (int)(sizeof(s->old) / sizeof(s->old[0])))
		s->old[s->nold++] = *spare;
	else
		disk_spare_close(spare);
}

enum err disk_spare_make(int images, int template_fd, struct disk_spare *out,
			 struct errinfo *e)
{
	OWN(disk_spare_close) struct disk_spare n = {.image = -1, .mount = -1};
	enum err r = disk_image_new(images, template_fd, &n.image, e);

	if (r == ERR_NONE && flock(n.image, LOCK_EX | LOCK_NB) < 0)
		r = err_set(e, ERR_IO, errno, "lock");
	if (r == ERR_NONE)
		r = disk_loop_mount_new(n.image, template_fd, &n.mount, e);
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

/* Not at once: who asks for these limits and those by turns would have none
 * ready. */
static enum err take_other(struct disk_spares *s,
			   const struct disk_limits *limits,
			   struct disk_spare *out, struct errinfo *e)
{
	OWN(own_fd) int template_fd = -1;
	enum err r = disk_image_template(s->templates, limits, &template_fd, e);

	if (r == ERR_NONE)
		r = disk_spare_make(s->images, template_fd, out, e);
	if (r != ERR_NONE)
		return r;
	if (s->template_fd >= 0 && ++s->misses < DISK_SPARES_MISSES)
		return ERR_NONE;
	while (s->nready > 0)
		put_away(s, &s->ready[--s->nready]);
	own_fd(&s->template_fd);
	s->template_fd = STEAL_FD(template_fd);
	s->limits = *limits;
	s->generation++;
	s->misses = 0;
	return ERR_NONE;
}

enum err disk_spare_take(struct disk_spares *s,
			 const struct disk_limits *limits,
			 struct disk_spare *out, struct errinfo *e)
{
	if (!same(&s->limits, limits) || s->template_fd < 0)
		return take_other(s, limits, out, e);
	s->misses = 0;
	if (s->nready == 0)
		return disk_spare_make(s->images, s->template_fd, out, e);
	*out = s->ready[--s->nready];
	return ERR_NONE;
}

void disk_spare_give(struct disk_spares *s, struct disk_spare *spare,
		     uint32_t generation)
{
	if (generation == s->generation && s->nready < DISK_SPARES)
		s->ready[s->nready++] = *spare;
	else
		put_away(s, spare);
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
