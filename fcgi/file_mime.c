#include <string.h>
#include <strings.h>

#include "fcgi/file_mime.h"
#include "fcgi/utf8.h"

struct magic {
	const char *type;
	size_t at;
	size_t n;
	const char *bytes;
};

#define MAGIC(type, at, bytes)                                                 \
	{                                                                      \
		type, at, sizeof(bytes) - 1, bytes                             \
	}

static const struct magic magics[] = {
    MAGIC("image/png", 0, "\x89PNG\r\n\x1a\n"),
    MAGIC("image/jpeg", 0, "\xff\xd8\xff"),
    MAGIC("image/gif", 0, "GIF8"),
    MAGIC("image/webp", 8, "WEBP"),
    MAGIC("image/bmp", 0, "BM\0\0"),
    MAGIC("image/x-icon", 0, "\0\0\1\0"),
    MAGIC("application/pdf", 0, "%PDF-"),
    MAGIC("application/zip", 0, "PK\3\4"),
    MAGIC("application/gzip", 0, "\x1f\x8b"),
    MAGIC("application/x-bzip2", 0, "BZh"),
    MAGIC("application/x-xz", 0, "\xfd\x37zXZ"),
    MAGIC("application/zstd", 0, "\x28\xb5\x2f\xfd"),
    MAGIC("application/x-tar", 257, "ustar"),
    MAGIC("application/x-executable", 0, "\x7f\x45LF"),
    MAGIC("application/wasm", 0, "\0asm"),
    MAGIC("application/vnd.sqlite3", 0, "SQLite format 3"),
    MAGIC("audio/mpeg", 0, "ID3"),
    MAGIC("audio/wav", 8, "WAVE"),
    MAGIC("audio/ogg", 0, "OggS"),
    MAGIC("audio/flac", 0, "fLaC"),
    MAGIC("video/mp4", 4, "ftyp"),
    MAGIC("video/webm", 0, "\x1a\x45\xdf\xa3"),
    MAGIC("font/woff", 0, "wOFF"),
    MAGIC("font/woff2", 0, "wOF2"),
};

struct extension {
	const char *ext;
	const char *type;
};

static const struct extension extensions[] = {
    {"txt", "text/plain"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"html", "text/html"},
    {"htm", "text/html"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"tsv", "text/tab-separated-values"},
    {"js", "text/javascript"},
    {"mjs", "text/javascript"},
    {"cjs", "text/javascript"},
    {"jsx", "text/javascript"},
    {"ts", "text/typescript"},
    {"tsx", "text/typescript"},
    {"py", "text/x-python"},
    {"sh", "text/x-shellscript"},
    {"c", "text/x-c"},
    {"h", "text/x-c"},
    {"cpp", "text/x-c++"},
    {"rs", "text/x-rust"},
    {"go", "text/x-go"},
    {"java", "text/x-java"},
    {"rb", "text/x-ruby"},
    {"php", "text/x-php"},
    {"sql", "application/sql"},
    {"json", "application/json"},
    {"ipynb", "application/json"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"toml", "application/toml"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"ico", "image/x-icon"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
    {"tgz", "application/gzip"},
    {"tar", "application/x-tar"},
    {"wasm", "application/wasm"},
    {"mp3", "audio/mpeg"},
    {"wav", "audio/wav"},
    {"ogg", "audio/ogg"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"parquet", "application/vnd.apache.parquet"},
    {"xlsx",
     "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"docx",
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
};

static const char *by_bytes(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		const struct magic *m = &magics[i];

		if (n >= m->at + m->n && memcmp(p + m->at, m->bytes, m->n) == 0)
			return m->type;
	}
	return NULL;
}

static const char *by_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash != NULL ? slash : path, '.');
	size_t i;

	if (dot == NULL)
		return NULL;
	for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (strcasecmp(dot + 1, extensions[i].ext) == 0)
			return extensions[i].type;
	}
	return NULL;
}

bool file_mime_binary(const char *type)
{
	static const char *const textual[] = {
	    "text/",
	    "application/json",
	    "application/xml",
	    "application/yaml",
	    "application/toml",
	    "application/sql",
	    "image/svg+xml",
	};
	size_t i;

	for (i = 0; i < sizeof(textual) / sizeof(textual[0]); i++) {
		if (strncmp(type, textual[i], strlen(textual[i])) == 0)
			return false;
	}
	return true;
}

/* Bytes and name must not disagree on whether it is text. */
const char *file_mime_type(const char *path, const char *p, size_t n, bool text)
{
	const char *bytes = by_bytes(p, n);
	const char *name = by_name(path);

	if (!text && bytes != NULL) {
		/* A document inside a zip is known by its name only. */
		if (strcmp(bytes, "application/zip") == 0 && name != NULL &&
		    file_mime_binary(name))
			return name;
		return bytes;
	}
	if (text && bytes != NULL && strcmp(bytes, "application/pdf") == 0)
		return bytes;
	if (name != NULL && (n == 0 || file_mime_binary(name) == !text))
		return name;
	return text ? "text/plain" : "application/octet-stream";
}

/* How many bytes at the end begin a character and do not finish it. */
static size_t cut_tail(const char *p, size_t n)
{
	size_t back;

	for (back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)p[n - back];
		size_t need = c > 0xf4    ? 1
			      : c >= 0xf0 ? 4
			      : c >= 0xe0 ? 3
			      : c >= 0xc0 ? 2
					  : 1;

		if ((c & 0xc0) == 0x80)
			continue;
		return need > back ? back : 0;
	}
	return 0;
}

bool file_mime_text(const char *p, size_t n, bool whole)
{
	if (!whole)
		n -= cut_tail(p, n);
	return n == 0 || (memchr(p, 0, n) == NULL && utf8_ok(p, n));
}
