/* Without libFuzzer: give each file of the named folders to the fuzzer. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/own.h"
#include "tests/fuzz/fuzz.h"

/* In memory of its exact size, so that a sanitizer sees each byte over. */
static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	OWN(own_mem) uint8_t *data = NULL;
	struct stat st;
	size_t n = 0;

	if (f == NULL)
		return -1;
	if (fstat(fileno(f), &st) == 0)
		data = malloc((size_t)st.st_size + (st.st_size == 0));
	if (data != NULL)
		n = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	if (data == NULL || n != (size_t)st.st_size)
		return -1;
	return LLVMFuzzerTestOneInput(data, n);
}

static int replay_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	int count = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (replay_file(path) != 0) {
			fprintf(stderr, "cannot read %s\n", path);
			return -1;
		}
		count++;
	}
	if (d != NULL)
		closedir(d);
	printf("%s: %d inputs\n", folder, count);
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (replay_folder(argv[i]) <= 0)
			return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
