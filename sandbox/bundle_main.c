#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/wire.h"
#include "sandbox/bundle.h"

/* What became of an unpacking: numbers, or why not. */
static int tell(struct bundle *b)
{
	OWN(buf_free) struct buf out = BUF_INIT(BUNDLE_TEXT_MAX + 32);

	if (b->op.head.status == FS_OK) {
		wire_u64(&out, b->entries);
		wire_u64(&out, b->bytes);
	} else if (b->op.head.status == FS_BAD_ARCHIVE) {
		buf_adds(&out, b->text);
	}
	b->op.head.payload = out.len;
	if (!buf_ok(&out) || fs_send_head(&b->op) < 0)
		return 1;
	return out.len > 0 && fs_send(out.data, out.len) < 0;
}

int main(int argc, char **argv)
{
	struct bundle *b = calloc(1, sizeof(*b));
	int r = -1;

	if (b == NULL || argc < 3 || argc > 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	umask(022);
	/* Names are bytes, and UTF-8 where an archive says what they are. The
	 * locale is our own: an image need not have any. */
	setenv("LOCPATH", "/opt/warren/lib/locale", 1);
	if (setlocale(LC_CTYPE, "C.utf8") == NULL) {
		unsetenv("LOCPATH");
		setlocale(LC_CTYPE, "C.utf8");
	}
	if (argc == 3 && strcmp(argv[1], "restore") == 0)
		r = bundle_restore(b, argv[2]);
	else if (argc == 4 && strcmp(argv[1], "pack") == 0)
		r = bundle_pack(b, argv[2], argv[3]);
	else if (argc == 4 && strcmp(argv[1], "unpack") == 0)
		r = bundle_unpack(b, argv[2], argv[3]);
	else if (argc == 4 && strcmp(argv[1], "backup") == 0)
		r = bundle_backup(b, argv[2], argv[3]);
	else
		fs_fail_as(&b->op, FS_INVALID);
	r = b->op.told ? r < 0 : tell(b);
	free(b);
	return r;
}
