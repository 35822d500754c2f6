# SPDX-License-Identifier: GPL-2.0-only
# make            build everything below build/
# make demo       one Bench, start to finish (sudo; installs what it needs)
# make check      all tests, on both kernels (sudo; installs what it needs)
# make attack     the attack table alone [GROUP=files|exec|...] [KERNEL=6.1|6.12|native]
# make install    DESTDIR= PREFIX=
# make unit|fuzz|e2e   one kind of test alone
# V=1 shows the commands; SAN=1 builds user space with ASan and UBSan below build/san, STEPS=1 one that
# dies where it is told to (userspace/base/step.h) below build/steps, OTHER=1 another version with other
# programs for the kernel below build/other

VERSION := 0.1.0
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec/benchmon
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
PROFILEDIR ?= $(PREFIX)/share/benchmon/profiles
SCHEMADIR ?= $(PREFIX)/share/benchmon/schemas
SCHEMAS := $(wildcard userspace/audit/*.schema.json userspace/gatekeeperd/*.schema.json)
UNITDIR ?= $(PREFIX)/lib/systemd/system

CC := gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config

ifeq ($(SAN),1)
B := build/san
HARDEN := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LDHARDEN := -fsanitize=address,undefined
else
B := $(if $(STEPS),build/steps,$(if $(OTHER),build/other,build))
HARDEN := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
	-fcf-protection -fPIE
LDHARDEN := -pie -Wl,-z,relro,-z,now,-z,noexecstack,--as-needed
endif

# Where the programs for the kernel are built.
K := $(if $(OTHER),build/other,build)

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wvla -Werror
CPPFLAGS += $(if $(STEPS),-DBM_STEPS) -D_GNU_SOURCE -DBENCHMON_VERSION='"$(VERSION)$(if $(OTHER),-other)"' -I. -Iuserspace -I$(K)
CFLAGS += -std=gnu11 -g $(WARN) $(HARDEN)
LDFLAGS += $(LDHARDEN)
BPFFLAGS := -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Werror -Wno-unused-parameter \
	-D__TARGET_ARCH_x86 -I/usr/include/$(shell $(CC) -print-multiarch) -Ibpf $(if $(OTHER),-DBM_EVENT_BURST=1024)

CLI_LIBS = $(shell $(PKG_CONFIG) --libs json-c)
DAEMON_LIBS = $(shell $(PKG_CONFIG) --libs json-c libbpf libsodium libnftnl libmnl libseccomp zlib) -lresolv

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
DAEMON_ROOMS := confine keys kernel bench network policy audit
DAEMON := $(call objects,$(DAEMON_ROOMS) gatekeeperd)
CLI := $(call objects,cli)

BPF_PARTS := files recall expire rings exec image refused names metadata xattrs look descriptors \
	arrivals entry sockets kinds egress capable mounts tasks owner ipc unix surface \
	kernfs member device sysctl passed attributes tells terminal bind interfaces queued options strangers why \
	seek
SKELETONS := $(K)/skel/benchmon.skel.h $(K)/skel/probe.skel.h
PROGRAMS := $(B)/bin/benchmon $(B)/bin/gatekeeperd $(B)/bin/benchmon-holder $(B)/bin/benchmon-ask

# Optional: without its libraries the rest is built as ever. BROKER=no leaves it out in any case.
BROKER_PACKAGES := json-c libseccomp libcurl libssl libcrypto libmicrohttpd
BROKER ?= $(shell $(PKG_CONFIG) --exists $(BROKER_PACKAGES) && echo yes || echo no)
# The definition's parser, without the rest of its room.
BROKER_PARTS := $(call objects,base confine broker) $(patsubst %,$(B)/obj/userspace/policy/%.o,\
	broker broker_parts broker_path hostname)
# What of it touches neither a socket nor a library, and is tested and fuzzed with or without them.
BROKER_PURE := $(patsubst %,$(B)/obj/userspace/broker/%.o,request answer echo buffer quota)
BROKER_LIBS = $(shell $(PKG_CONFIG) --libs $(BROKER_PACKAGES))
ifeq ($(BROKER),yes)
PROGRAMS += $(B)/bin/benchmon-broker
endif

# Optional: without ncurses `benchmon top` prints one table. TOP=no leaves it out in any case.
TOP ?= $(shell $(PKG_CONFIG) --exists ncursesw && echo yes || echo no)
ifeq ($(TOP),yes)
$(B)/obj/userspace/cli/top.o: CPPFLAGS += -DBM_TOP
TOP_LIBS := $(shell $(PKG_CONFIG) --libs ncursesw)
CLI_LIBS += $(TOP_LIBS)
else
CLI := $(filter-out %/top_screen.o,$(CLI))
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all clean install uninstall manuals unit fuzz check check-full demo attack e2e deps

all: $(PROGRAMS) manuals build/gatekeeperd.service

# --- BPF: many small files, one linked object, one skeleton ----------------------------------

$(K)/bpf/%.o: bpf/%.bpf.c
	$(call msg,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -c $< -o $@

$(K)/bpf/benchmon.linked: $(BPF_PARTS:%=$(K)/bpf/%.o)
	$(call msg,LINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(K)/bpf/probe.linked: $(K)/bpf/probe.o
	$(Q)$(BPFTOOL) gen object $@ $^

$(K)/skel/%.skel.h: $(K)/bpf/%.linked
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $* >$@

# --- user space ------------------------------------------------------------------------------

$(call objects,kernel): | $(SKELETONS)

# It has the list in it.
$(B)/obj/userspace/policy/secrets_match.o: profiles/secrets.json

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

$(B)/bin/benchmon-broker: $(BROKER_PARTS)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(BROKER_LIBS) -o $@

# Static, and without sanitizers: it runs in a root file system that has nothing else.
$(B)/bin/benchmon-holder: userspace/holder/holder.c
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -static -s $< -o $@

# The same: benchmon as it is inside a Bench.
ASK := userspace/ask/main.c userspace/ask/parse.c userspace/cli/parse.c userspace/protocol/protocol.c \
	$(addprefix userspace/base/,error.c escape.c io.c json.c)

$(B)/bin/benchmon-ask: $(ASK) $(wildcard $(addprefix userspace/,ask/*.h base/*.h protocol/*.h)) userspace/cli/parse.h
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -O2 $(WARN) -ffunction-sections -Wl,--gc-sections -static -s \
		$(filter %.c,$^) -ljson-c -o $@

# --- manuals: the synopsis comes from the command table ------------------------------------------

MANUALS := build/man/benchmon.1 build/man/gatekeeperd.8 build/man/benchmon-broker.8 build/man/benchmon.bash
manuals: $(MANUALS)

build/man/benchmon.1: userspace/cli/benchmon.1.in build/bin/benchmon
	$(call msg,MAN,$@)
	@mkdir -p $(@D)
	$(Q)build/bin/benchmon synopsis >$@.synopsis && build/bin/benchmon synopsis options >$@.options
	$(Q)sed -e '/^@SYNOPSIS@$$/{r $@.synopsis' -e 'd}' -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' $< >$@
	$(Q)rm $@.synopsis $@.options

build/man/gatekeeperd.8: userspace/cli/gatekeeperd.8.in
	@mkdir -p $(@D)
	$(Q)cp $< $@

build/man/benchmon-broker.8: userspace/broker/benchmon-broker.8.in
	@mkdir -p $(@D)
	$(Q)cp $< $@

build/man/benchmon.bash: build/bin/benchmon
	@mkdir -p $(@D)
	$(Q)$< completion bash >$@

# As another PREFIX would have it, when it is another.
build/gatekeeperd.service: tools/systemd/gatekeeperd.service.in FORCE
	@mkdir -p $(@D)
	$(Q)sed 's|@LIBEXECDIR@|$(LIBEXECDIR)|' $< | cmp -s - $@ || \
		sed 's|@LIBEXECDIR@|$(LIBEXECDIR)|' $< >$@
FORCE:
.PHONY: FORCE

install: all
	install -D -m 755 build/bin/benchmon $(DESTDIR)$(SBINDIR)/benchmon
	install -D -m 755 build/bin/gatekeeperd $(DESTDIR)$(LIBEXECDIR)/gatekeeperd
	install -D -m 755 build/bin/benchmon-holder $(DESTDIR)$(LIBEXECDIR)/benchmon-holder
	$(if $(filter yes,$(BROKER)),install -D -m 755 build/bin/benchmon-broker $(DESTDIR)$(LIBEXECDIR)/benchmon-broker)
	install -D -m 755 build/bin/benchmon-ask $(DESTDIR)$(LIBEXECDIR)/benchmon-ask
	install -D -m 644 build/man/benchmon.1 $(DESTDIR)$(MANDIR)/man1/benchmon.1
	install -D -m 644 build/man/gatekeeperd.8 $(DESTDIR)$(MANDIR)/man8/gatekeeperd.8
	install -D -m 644 build/man/benchmon-broker.8 $(DESTDIR)$(MANDIR)/man8/benchmon-broker.8
	install -D -m 644 build/man/benchmon.bash $(DESTDIR)$(COMPLETIONDIR)/benchmon
	install -D -m 644 build/gatekeeperd.service $(DESTDIR)$(UNITDIR)/gatekeeperd.service
	install -D -m 644 tools/systemd/gatekeeperd.socket $(DESTDIR)$(UNITDIR)/gatekeeperd.socket
	install -D -m 644 -t $(DESTDIR)$(SCHEMADIR) $(SCHEMAS)
	install -d -m 755 $(DESTDIR)$(PROFILEDIR)
	install -m 644 $(filter-out profiles/secrets%,$(wildcard profiles/*.json)) $(DESTDIR)$(PROFILEDIR)
	install -m 644 profiles/secrets.json $(DESTDIR)$(dir $(PROFILEDIR))secrets.json
	install -d -m 755 $(DESTDIR)$(PROFILEDIR)/brokers
	install -m 644 profiles/brokers/*.json $(DESTDIR)$(PROFILEDIR)/brokers

uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/benchmon $(DESTDIR)$(LIBEXECDIR)/gatekeeperd \
		$(DESTDIR)$(LIBEXECDIR)/benchmon-holder $(DESTDIR)$(LIBEXECDIR)/benchmon-ask \
		$(DESTDIR)$(LIBEXECDIR)/benchmon-broker $(DESTDIR)$(MANDIR)/man1/benchmon.1 \
		$(DESTDIR)$(MANDIR)/man8/gatekeeperd.8 $(DESTDIR)$(MANDIR)/man8/benchmon-broker.8 \
		$(DESTDIR)$(COMPLETIONDIR)/benchmon \
		$(DESTDIR)$(UNITDIR)/gatekeeperd.service $(DESTDIR)$(UNITDIR)/gatekeeperd.socket
	rm -f $(patsubst profiles/%,$(DESTDIR)$(PROFILEDIR)/%,$(wildcard profiles/*.json profiles/brokers/*.json))
	rm -f $(DESTDIR)$(dir $(PROFILEDIR))secrets.json $(patsubst %,$(DESTDIR)$(SCHEMADIR)/%,$(notdir $(SCHEMAS)))
	$(Q)rmdir $(DESTDIR)$(SCHEMADIR) 2>/dev/null || true
	$(Q)rmdir $(DESTDIR)$(PROFILEDIR)/brokers $(DESTDIR)$(PROFILEDIR) $(DESTDIR)$(dir $(PROFILEDIR)) 2>/dev/null || true

# --- tests -----------------------------------------------------------------------------------

# A unit test is linked with every room below the daemon and the CLI, and with the CLI's functions.
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_ROOMS := $(call objects,$(DAEMON_ROOMS)) $(BASE) $(filter-out %/main.o,$(CLI) $(call objects,ask)) \
	$(filter-out %/main.o,$(call objects,gatekeeperd)) $(BROKER_PURE)

$(B)/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_ROOMS)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $^ $(DAEMON_LIBS) $(TOP_LIBS) -lcmocka -o $@

# Each a program of its own, that runs in any root file system.
E2E := $(patsubst tests/e2e/programs/%.c,build/e2e/%,$(wildcard tests/e2e/programs/*.c))

build/e2e/%: tests/e2e/programs/%.c tests/e2e/programs/say.h
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror -static -pthread $< -o $@

build/attack/payload: $(wildcard tests/attack/*.c tests/attack/*.h)
	$(call msg,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror -static -pthread \
		$(filter %.c,$^) -o $@

FUZZ := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 10
FUZZ_SOURCES := $(wildcard $(addprefix userspace/,base/*.c keys/*.c protocol/*.c audit/*.c network/address*.c \
	bench/mounts.c network/resolve_parse.c policy/hostname.c policy/profile.c policy/one.c policy/secrets*.c \
	policy/broker.c policy/broker_parts.c policy/broker_path.c \
	$(addprefix broker/,request.c answer.c echo.c buffer.c quota.c) \
	policy/discover*.c confine/*.c gatekeeperd/config.c gatekeeperd/log.c))

FUZZ_SANITIZE := address,undefined -fno-sanitize-recover=all
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=build/fuzz/obj/%.o)
.SECONDARY: $(FUZZ:build/fuzz/%=build/fuzz/obj/tests/fuzz/%.o)

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 -g -O1 -MMD -MP -fsanitize=fuzzer-no-link,$(FUZZ_SANITIZE) \
		-c $< -o $@

# Its handlers are the target's own.
build/fuzz/fuzz_request: build/fuzz/obj/userspace/gatekeeperd/requests.o

build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o $(FUZZ_OBJECTS)
	$(call msg,FUZZ,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SANITIZE) $^ \
		$(shell $(PKG_CONFIG) --libs json-c libsodium libseccomp zlib) -lresolv -o $@

# Everything that `check` runs in the guests, built before they start.
tests-built: all build/attack/payload $(E2E) $(UNIT)
.PHONY: tests-built

# These make namespaces, mounts, interfaces and nft tables: they run in the guests.
unit: $(filter-out %/test_nft %/test_link %/test_listen %/test_sockdiag %/test_obstacle %/test_pin,$(UNIT))
	$(Q)set -e; for test in $^; do $$test; done

# Each is a target of its own, so that they run side by side.
FUZZ_RUNS := $(FUZZ:build/fuzz/%=run-%)

$(FUZZ_RUNS): run-%: build/fuzz/%
	$(Q)mkdir -p build/corpus/$*
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=0 \
		-artifact_prefix=build/fuzz/ build/corpus/$*

fuzz: $(FUZZ_RUNS)
.PHONY: $(FUZZ_RUNS)

deps:
	@tools/deps build test run rootfs vm

demo:
	@tools/deps build run rootfs
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@tools/rootfs >/dev/null
	@tools/on-kernel tools/demo

check: deps
	@tests/run check

check-full: deps
	@tests/run full

GROUP ?=
KERNEL ?=
attack: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all build/attack/payload
	@tools/rootfs >/dev/null
	@tests/attack/drive "$(GROUP)" "$(KERNEL)"

# Daemons that are never installed: cases/steps.sh, cases/upgrade.sh.
stepped:
	@$(MAKE) --no-print-directory STEPS=1 $(addprefix build/steps/bin/,gatekeeperd benchmon-holder benchmon-ask benchmon-broker)

others: stepped
	@$(MAKE) --no-print-directory OTHER=1 $(addprefix build/other/bin/,gatekeeperd benchmon-holder benchmon-ask)
.PHONY: others stepped

e2e: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all $(E2E)
	@$(MAKE) --no-print-directory -j$$(nproc) others
	@tests/e2e/drive $(KERNEL)

-include $(wildcard $(K)/bpf/*.d) $(shell find $(B)/obj build/fuzz/obj -name '*.d' 2>/dev/null)

clean:
	$(Q)find build -mindepth 1 -maxdepth 1 ! -name vm ! -name rootfs -exec rm -rf {} + 2>/dev/null || true
