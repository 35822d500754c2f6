# SPDX-License-Identifier: GPL-2.0-only
# make            build everything below build/
# make demo       one Bench, start to finish (sudo; installs what it needs)
# make check      all tests, on both kernels (sudo; installs what it needs)
# make attack     the attack table alone [GROUP=files|exec|...] [KERNEL=6.1|6.12|native]
# make install    DESTDIR= PREFIX=
# V=1 shows the commands; SAN=1 builds user space with ASan and UBSan below build/san

VERSION := 0.1.0
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec/benchmon
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

CC := gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config

ifeq ($(SAN),1)
B := build/san
HARDEN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LDHARDEN := -fsanitize=address,undefined
else
B := build
HARDEN := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
	-fcf-protection -fPIE
LDHARDEN := -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
endif

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wvla -Werror
CPPFLAGS += -D_GNU_SOURCE -DBENCHMON_VERSION='"$(VERSION)"' -I. -Iuserspace -Ibuild
CFLAGS += -std=gnu11 -g $(WARN) $(HARDEN)
LDFLAGS += $(LDHARDEN)
BPFFLAGS := -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter \
	-D__TARGET_ARCH_x86 -I/usr/include/$(shell $(CC) -print-multiarch) -Ibpf

CLI_LIBS = $(shell $(PKG_CONFIG) --libs json-c)
DAEMON_LIBS = $(shell $(PKG_CONFIG) --libs json-c libbpf libsodium libnftnl libmnl libseccomp)

ifeq ($(V),1)
Q :=
msg =
else
Q := @
msg = @printf '  %-8s %s\n' $(1) $(2);
endif

# Rooms, bottom up: a program is its own folder and the rooms below it.
objects = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(addsuffix /*.c,$(addprefix userspace/,$(1)))))
BASE := $(call objects,base protocol)
DAEMON_ROOMS := kernel bench network policy audit
DAEMON := $(call objects,$(DAEMON_ROOMS) gatekeeperd)
CLI := $(call objects,cli)

BPF_PARTS := files exec refused arrivals entry sockets egress
SKELETONS := build/skel/benchmon.skel.h build/skel/probe.skel.h
PROGRAMS := $(B)/bin/benchmon $(B)/bin/gatekeeperd $(B)/bin/benchmon-holder

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all clean install uninstall check check-full demo attack unit deps

all: $(PROGRAMS)

# --- BPF: many small files, one linked object, one skeleton ----------------------------------

build/bpf/%.o: bpf/%.bpf.c
	$(call msg,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -c $< -o $@

build/bpf/benchmon.linked: $(BPF_PARTS:%=build/bpf/%.o)
	$(call msg,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

build/bpf/probe.linked: build/bpf/probe.o
	$(Q)$(BPFTOOL) gen object $@ $^

build/skel/%.skel.h: build/bpf/%.linked
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $* >$@

# --- user space ------------------------------------------------------------------------------

$(B)/obj/userspace/kernel/%.o: | $(SKELETONS)

$(B)/obj/%.o: %.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/bin/benchmon: $(CLI) $(BASE)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(CLI_LIBS) -o $@

$(B)/bin/gatekeeperd: $(DAEMON) $(BASE)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(DAEMON_LIBS) -o $@

# Static, and without sanitizers: it runs in a root file system that has nothing else.
$(B)/bin/benchmon-holder: userspace/holder/holder.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -s $< -o $@

-include $(wildcard build/bpf/*.d) $(shell find $(B)/obj -name '*.d' 2>/dev/null)

clean:
	$(Q)find build -mindepth 1 -maxdepth 1 ! -name vm ! -name rootfs -exec rm -rf {} + 2>/dev/null || true
