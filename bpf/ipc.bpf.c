// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V objects and POSIX message queues have no owner but a uid, and no home but their
 * namespace: a Bench whose namespace is others' too has none. In one of its own all are its own.
 */
#include "subject.h"

static __always_inline int refuse_ipc(const char *what)
{
	struct bm_bench *bench = walled_bench();

	if (!bench || !(bench->flags & BM_BENCH_SHARED_IPC))
		return 0;
	return refuse(bench->id, BM_HOOK_IPC, BM_RULE_SHARED, EACCES, 0, 0, what);
}

SEC("lsm/ipc_permission")
int BPF_PROG(bm_ipc, void *object, short flags)
{
	return refuse_ipc(NULL);
}

SEC("lsm/shm_alloc_security")
int BPF_PROG(bm_new_shm, void *object)
{
	return refuse_ipc(NULL);
}

SEC("lsm/sem_alloc_security")
int BPF_PROG(bm_new_sem, void *object)
{
	return refuse_ipc(NULL);
}

SEC("lsm/msg_queue_alloc_security")
int BPF_PROG(bm_new_queue, void *object)
{
	return refuse_ipc(NULL);
}

/* Removal and the like ask for the owner's uid only; and what there is in all (IPC_INFO). */
SEC("lsm/shm_shmctl")
int BPF_PROG(bm_shmctl, void *object, int command)
{
	return refuse_ipc(NULL);
}

SEC("lsm/sem_semctl")
int BPF_PROG(bm_semctl, void *object, int command)
{
	return refuse_ipc(NULL);
}

SEC("lsm/msg_queue_msgctl")
int BPF_PROG(bm_msgctl, void *object, int command)
{
	return refuse_ipc(NULL);
}

/* mq_open and mq_unlink work on the namespace's own mount, and through no path_* hook. */
SEC("lsm/inode_create")
int BPF_PROG(bm_mq_create, struct inode *directory, struct dentry *name)
{
	return directory->i_sb->s_magic == MQUEUE_MAGIC ? refuse_ipc(NULL) : 0;
}

SEC("lsm/inode_unlink")
int BPF_PROG(bm_mq_unlink, struct inode *directory, struct dentry *name)
{
	return directory->i_sb->s_magic == MQUEUE_MAGIC ? refuse_ipc(NULL) : 0;
}

char LICENSE[] SEC("license") = "GPL";
