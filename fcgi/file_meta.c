#include "fcgi/file_meta.h"

#define YEAR_10000_S INT64_C(253402300800)

static const char *type_name(enum fs_type t)
{
	switch (t) {
	case FS_TYPE_FILE:
		return "file";
	case FS_TYPE_DIR:
		return "directory";
	case FS_TYPE_LINK:
		return "symlink";
	case FS_TYPE_NONE:
	case FS_TYPE_OTHER:
	case FS_TYPE_END:
		return "other";
	}
	return "other";
}

/* "rwxr-xr-x", with s and t as ls(1) writes them. */
static void put_mode(struct json_out *o, uint32_t mode)
{
	char s[] = "rwxrwxrwx";
	size_t i;

	for (i = 0; i < 9; i++) {
		if ((mode & (0400U >> i)) == 0)
			s[i] = '-';
	}
	if ((mode & 04000) != 0)
		s[2] = s[2] == 'x' ? 's' : 'S';
	if ((mode & 02000) != 0)
		s[5] = s[5] == 'x' ? 's' : 'S';
	if ((mode & 01000) != 0)
		s[8] = s[8] == 'x' ? 't' : 'T';
	json_out_text(o, "mode", s);
}

static void put_time(struct json_out *o, const struct fs_meta *m)
{
	int64_t s = m->mtime_s;

	if (s < 0)
		s = 0;
	if (s >= YEAR_10000_S)
		s = YEAR_10000_S - 1;
	json_out_time(o, "modifiedAt", s * 1000 + m->mtime_ns / 1000000);
}

void file_meta_put(struct json_out *o, const struct fs_meta *m)
{
	json_out_text(o, "type", type_name(m->type));
	json_out_int(o, "size", (int64_t)m->size);
	put_time(o, m);
	put_mode(o, m->mode);
	json_out_object(o, "permissions");
	json_out_bool(o, "readable", (m->access & FS_READABLE) != 0);
	json_out_bool(o, "writable", (m->access & FS_WRITABLE) != 0);
	json_out_bool(o, "executable", (m->access & FS_EXECUTABLE) != 0);
	json_out_end(o);
}
