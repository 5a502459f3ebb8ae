/* A backup as a directory: whole, or the directory is as it was. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/bundle_stage.h"
#include "sandbox/bundle_swap.h"

/* One that we could not move with this mode gets it where it is then. */
static bool may_move(mode_t mode)
{
	return geteuid() == 0 || (mode & S_IWUSR) != 0;
}

static void dress(const struct bundle_stage *stage, int root)
{
	if (!stage->self)
		return;
	if (fchmod(root, stage->mode) == 0)
		(void)futimens(
		    root, (struct timespec[2]){stage->mtime, stage->mtime});
}

int bundle_restore(struct bundle *b, const char *path)
{
	OWN(bundle_swap_close)
	struct bundle_swap swap = BUNDLE_SWAP_INIT(&b->op);
	OWN(bundle_stage_close)
	struct bundle_stage stage = BUNDLE_STAGE_INIT(b);
	bool inside;

	if (bundle_swap_open(&swap, path) < 0)
		return -1;
	stage.root = dup(swap.root);
	if (stage.root < 0 || bundle_unpack_whole(b, &stage) < 0)
		return stage.root < 0 ? fs_fail(&b->op, EMFILE) : -1;
	inside = swap.parent < 0;
	if (!inside && may_move(stage.mode))
		dress(&stage, swap.root);
	if (bundle_swap_commit(&swap) < 0)
		return -1;
	inside = inside || swap.at == swap.target;
	if (inside || !may_move(stage.mode))
		dress(&stage, inside ? swap.target : swap.root);
	return 0;
}
