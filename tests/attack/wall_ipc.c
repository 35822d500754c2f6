// SPDX-License-Identifier: GPL-2.0-only
/* SysV IPC and POSIX message queues. KEY: what the victim made. */
#include "payload.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEY number(args[0])
#define CALL(nr, a, b, c, d, e) outcome(door(nr, a, b, c, d, e, 0))

static int way_shmget(char **args)
{
	return CALL(SYS_shmget, KEY, 0, 0, 0, 0);
}

static int way_semget(char **args)
{
	return CALL(SYS_semget, KEY, 0, 0, 0, 0);
}

static int way_msgget(char **args)
{
	return CALL(SYS_msgget, KEY, 0, 0, 0, 0);
}

/* By an identifier, as ipcs would show it, without the get. */
static int way_shmat(char **args)
{
	return CALL(SYS_shmat, KEY, 0, SHM_RDONLY, 0, 0);
}

static char space[1024];

static int way_shmstat(char **args)
{
	return CALL(SYS_shmctl, KEY, IPC_STAT | (is_compat() ? 0x100 : 0), space, 0, 0);
}

static int way_shmrm(char **args)
{
	return CALL(SYS_shmctl, KEY, IPC_RMID, 0, 0, 0);
}

static int way_shmlock(char **args)
{
	return CALL(SYS_shmctl, KEY, SHM_LOCK, 0, 0, 0);
}

/* Whatever there is, by its index: the first that is there, or is refused. */
#define FIRST(call)                                                                                \
	for (int i = 0; i < 64; i++)                                                               \
		if ((call) >= 0)                                                                   \
			return 0;                                                                  \
		else if (errno != EINVAL)                                                          \
			return errno;                                                              \
	return EINVAL

static int way_shmlist(char **args)
{
	(void)args;
	FIRST(shmctl(i, SHM_STAT, (struct shmid_ds *)space));
}

static int way_shmlist_any(char **args)
{
	(void)args;
	FIRST(shmctl(i, 15 /* SHM_STAT_ANY */, (struct shmid_ds *)space));
}

static int way_shminfo(char **args)
{
	(void)args;
	return outcome(shmctl(0, SHM_INFO, (struct shmid_ds *)space));
}

static int way_semget_value(char **args)
{
	return CALL(SYS_semctl, KEY, 0, GETVAL, 0, 0);
}

static int way_semset(char **args)
{
	return CALL(SYS_semctl, KEY, 0, SETVAL, 1, 0);
}

static int way_semop(char **args)
{
	struct sembuf op = { 0, 1, IPC_NOWAIT };

	return outcome(semop(KEY, &op, 1));
}

static int way_semlist(char **args)
{
	(void)args;
	FIRST(semctl(i, 0, 20 /* SEM_STAT_ANY */, space));
}

static int way_msgsend(char **args)
{
	static struct {
		long type;
		char text[8];
	} message = { 1, "x" };

	return CALL(SYS_msgsnd, KEY, &message, 1, IPC_NOWAIT, 0);
}

static int way_msgreceive(char **args)
{
	static struct {
		long type;
		char text[64];
	} message;

	return past(door(SYS_msgrcv, KEY, &message, 64, 0, IPC_NOWAIT | MSG_NOERROR, 0), ENOMSG);
}

static int way_msgstat(char **args)
{
	return outcome(msgctl(KEY, IPC_STAT, (struct msqid_ds *)space));
}

static int way_msglist(char **args)
{
	(void)args;
	FIRST(msgctl(i, 13 /* MSG_STAT_ANY */, (struct msqid_ds *)space));
}

/* NAME */
static int way_mqopen(char **args)
{
	return CALL(SYS_mq_open, low(args[0] + 1), O_RDWR | O_NONBLOCK, 0, 0, 0);
}

static int way_mqunlink(char **args)
{
	return CALL(SYS_mq_unlink, low(args[0] + 1), 0, 0, 0, 0);
}

/* shm|sem|msg|mq: of its own, used and removed */
static int way_own(char **args)
{
	struct sembuf op = { 0, 1, 0 };
	struct {
		long type;
		char text[8];
	} message = { 1, "x" };
	int id, r;
	mqd_t queue;

	if (!strcmp(args[0], "shm")) {
		id = shmget(IPC_PRIVATE, 4096, 0600);
		r = id < 0 || shmat(id, NULL, 0) == (void *)-1 ? errno : 0;
		return r ? r : outcome(shmctl(id, IPC_RMID, NULL));
	}
	if (!strcmp(args[0], "sem")) {
		id = semget(IPC_PRIVATE, 1, 0600);
		r = id < 0 || semop(id, &op, 1) < 0 ? errno : 0;
		return r ? r : outcome(semctl(id, 0, IPC_RMID));
	}
	if (!strcmp(args[0], "msg")) {
		id = msgget(IPC_PRIVATE, 0600);
		r = id < 0 || msgsnd(id, &message, 1, 0) < 0 || msgrcv(id, &message, 8, 0, 0) < 0
			    ? errno
			    : 0;
		return r ? r : outcome(msgctl(id, IPC_RMID, NULL));
	}
	queue = mq_open("/own", O_RDWR | O_CREAT, 0600, NULL);
	if (queue < 0)
		return errno;
	r = outcome(mq_send(queue, "x", 1, 0));
	return r ? r : outcome(mq_unlink("/own"));
}

static const struct way ways[] = {
	{ "shmget", way_shmget },
	{ "semget", way_semget },
	{ "msgget", way_msgget },
	{ "shmat", way_shmat },
	{ "shmstat", way_shmstat },
	{ "shmrm", way_shmrm },
	{ "shmlock", way_shmlock },
	{ "shmlist", way_shmlist },
	{ "shmlist-any", way_shmlist_any },
	{ "shminfo", way_shminfo },
	{ "semgetval", way_semget_value },
	{ "semset", way_semset },
	{ "semop", way_semop },
	{ "semlist", way_semlist },
	{ "msgsend", way_msgsend },
	{ "msgreceive", way_msgreceive },
	{ "msgstat", way_msgstat },
	{ "msglist", way_msglist },
	{ "mqopen", way_mqopen },
	{ "mqunlink", way_mqunlink },
	{ "own", way_own },
};

int probe_ipc(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
