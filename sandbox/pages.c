#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/pages.h"

/* Newer than some libc's headers. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Where this program begins; the linker has it. */
extern char __ehdr_start[] __attribute__((visibility("hidden")));

void pages_map(void)
{
	const ElfW(Ehdr) *head = (const void *)__ehdr_start;
	const ElfW(Phdr) *p = (const void *)(__ehdr_start + head->e_phoff);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t first = SIZE_MAX;

	for (int i = 0; i < head->e_phnum; i++, p++) {
		size_t from = p->p_vaddr & ~(page - 1);
		size_t to = p->p_vaddr + p->p_filesz;

		if (p->p_type != PT_LOAD)
			continue;
		if (first == SIZE_MAX)
			first = from;
		if ((p->p_flags & PF_W) == 0)
			madvise(__ehdr_start + (from - first), to - from,
				MADV_POPULATE_READ);
	}
}
