// SPDX-License-Identifier: GPL-2.0-only
/* Ways to execute what is in no file of the image. Each runs the code that it made. */
#include "payload.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH 4096
#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)

/* mov $42, %eax; ret */
static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };

/* To be overwritten where it lies, in the text of this program. */
__attribute__((noinline, aligned(4096))) static int victim(void)
{
	volatile int r = 41;

	return r;
}

static int runs(void *at)
{
	return ((int (*)(void))(uintptr_t)at)() == 42 ? 0 : setup("it ran something else");
}

static int written_and_run(void *at, size_t size)
{
	memcpy(at, code, sizeof(code));
	return mprotect(at, size, PROT_READ | PROT_EXEC) < 0 ? errno : runs(at);
}

static void *page(void *at)
{
	return (void *)((uintptr_t)at & ~(uintptr_t)(LENGTH - 1));
}

/* Memory from mmap(2), made executable at once, or after it was written (then). */
static int memory(int flags, bool then)
{
	void *map = mmap(NULL, LENGTH, then ? PROT_READ | PROT_WRITE : RWX, flags, -1, 0);

	if (map == MAP_FAILED)
		return then ? setup("mmap") : errno;
	if (then)
		return written_and_run(map, LENGTH);
	memcpy(map, code, sizeof(code));
	return runs(map);
}

int probe_anonymous(char **args)
{
	return memory(MAP_ANONYMOUS | (strcmp(args[0], "shared") ? MAP_PRIVATE : MAP_SHARED),
		      args[1]);
}

int probe_heap(char **args)
{
	char *at = sbrk(2 * LENGTH);

	(void)args;
	return at == (void *)-1 ? setup("brk") : written_and_run(page(at + LENGTH), LENGTH);
}

int probe_stack(char **args)
{
	char here[3 * LENGTH];
	int r = written_and_run(page(here + LENGTH), LENGTH);

	(void)args;
	/* Others are called here next. */
	mprotect(page(here + LENGTH), LENGTH, PROT_READ | PROT_WRITE);
	return r;
}

int probe_vdso(char **args)
{
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);

	(void)args;
	/* As a whole: the kernel doesn't split it, and its size is not told. */
	for (size_t size = LENGTH; size <= 4 * LENGTH; size += LENGTH)
		if (mprotect(vdso, size, PROT_READ | PROT_WRITE) == 0)
			return written_and_run(vdso, size);
	return setup("mprotect");
}

/* A private mapping of PATH: RWX at once, or read-write and then executable; [clean]: unwritten. */
int probe_filewx(char **args)
{
	int fd = open(args[0], O_RDONLY);
	bool then = args[1];
	void *map = mmap(NULL, LENGTH, then ? PROT_READ | PROT_WRITE : RWX, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return then || fd < 0 ? setup(args[0]) : errno;
	if (!then) {
		memcpy(map, code, sizeof(code));
		return runs(map);
	}
	if (!strcmp(args[1], "clean"))
		return outcome(mprotect(map, LENGTH, PROT_READ | PROT_EXEC));
	return written_and_run(map, LENGTH);
}

int probe_text(char **args)
{
	void *at = page((void *)(uintptr_t)victim);

	(void)args;
	if (mprotect(at, LENGTH, RWX) < 0)
		return errno;
	memcpy((void *)(uintptr_t)victim, code, sizeof(code));
	return runs((void *)(uintptr_t)victim);
}

int probe_memfdmap(char **args)
{
	int fd = memfd_create("code", 0);
	void *map;

	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code) || ftruncate(fd, LENGTH) < 0)
		return setup("memfd");
	map = mmap(NULL, LENGTH, PROT_READ | PROT_EXEC,
		   strcmp(args[0], "shared") ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? errno : runs(map);
}

int probe_shm(char **args)
{
	int id = shmget(IPC_PRIVATE, LENGTH, IPC_CREAT | 0700);
	void *at = shmat(id, NULL, SHM_EXEC);
	int r = at == (void *)-1 ? errno : 0;

	(void)args;
	shmctl(id, IPC_RMID, NULL);
	if (r)
		return id < 0 ? setup("shmget") : r;
	memcpy(at, code, sizeof(code));
	return runs(at);
}

int probe_zero(char **args)
{
	int fd = open("/dev/zero", O_RDWR);
	void *map = mmap(NULL, LENGTH, RWX, MAP_PRIVATE, fd, 0);

	(void)args;
	if (fd < 0)
		return setup("/dev/zero");
	return map == MAP_FAILED ? errno : 0;
}

/* Protections are not heeded there: into the text, which nobody may write. */
int probe_procmem(char **args)
{
	int fd = open(args[0], O_RDWR);

	if (fd < 0)
		return errno;
	if (pwrite(fd, code, sizeof(code), (off_t)(uintptr_t)victim) != sizeof(code))
		return setup("pwrite");
	return runs((void *)(uintptr_t)victim);
}

int probe_threadmem(char **args)
{
	char path[64], *paths[] = { path, NULL };

	(void)args;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", getpid(), getpid());
	return probe_procmem(paths);
}

/* A child that waits; what is done to it; its end. */
static int to_child(int (*act)(pid_t pid))
{
	pid_t pid = fork();
	int r, status;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid < 0)
		return setup("fork");
	r = act(pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
	return r;
}

static int poke(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return errno;
	if (waitpid(pid, &status, 0) != pid)
		return setup("wait");
	return outcome(ptrace(PTRACE_POKETEXT, pid, victim, 0));
}

int probe_poke(char **args)
{
	(void)args;
	return to_child(poke);
}

static int vmwrite(pid_t pid)
{
	static char byte;
	struct iovec from = { &byte, 1 }, to = { &byte, 1 };

	return process_vm_writev(pid, &from, 1, &to, 1, 0) == 1 ? 0 : errno;
}

int probe_vmwrite(char **args)
{
	(void)args;
	return to_child(vmwrite);
}

int probe_traceme(char **args)
{
	(void)args;
	return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

/* brk(2) heeds the personality, without a hook. */
static int heap_by_personality(void)
{
	char *at = sbrk(2 * LENGTH);

	if (at == (void *)-1)
		return setup("brk");
	at = page(at + LENGTH);
	memcpy(at, code, sizeof(code));
	return runs(at);
}

/* all: with every other bit but one. */
int probe_personality(char **args)
{
	unsigned long wanted = READ_IMPLIES_EXEC;

	if (args[0] && !strcmp(args[0], "all"))
		wanted = 0xfffffffe;
	return personality(wanted) < 0 ? errno : heap_by_personality();
}

int probe_personality32(char **args)
{
	long r = call32(136, READ_IMPLIES_EXEC, 0, 0);

	(void)args;
	return r < 0 ? (int)-r : heap_by_personality();
}

int probe_ask_personality(char **args)
{
	(void)args;
	return outcome(personality(0xffffffff));
}

/* A copy of this program FROM, as TO, that asks for an executable stack. */
int tool_mkstack(char **args)
{
	int from = open(args[0], O_RDONLY), to = open(args[1], O_RDWR | O_CREAT | O_TRUNC, 0755);
	Elf64_Ehdr *elf;
	Elf64_Phdr *header;
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return setup("copy");
	elf = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (elf == MAP_FAILED || read(from, elf, (size_t)st.st_size) != st.st_size)
		return setup("copy");
	header = (Elf64_Phdr *)((char *)elf + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++) {
		if (header[i].p_type != PT_GNU_STACK)
			continue;
		header[i].p_flags |= PF_X;
		return 0;
	}
	return setup("no PT_GNU_STACK");
}
