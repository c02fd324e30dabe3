# SPDX-License-Identifier: GPL-2.0-or-later
# Faultline. `make help` lists the targets; settings go into config.mak.
-include config.mak

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
B := build

LIBS := libgit2 libcurl sqlite3 jansson libsystemd libarchive libRmath nettle \
	yaml-0.1
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef \
	-Wimplicit-fallthrough
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now $(LDFLAGS)

comma := ,
ifdef DEV
ALL_CFLAGS += -Werror
endif
ifdef SAN
B := build/san-$(subst $(comma),-,$(SAN))
ALL_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer
ALL_LDFLAGS += -fsanitize=$(SAN)
HARDEN := -fPIE
endif
ifdef V
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n' $(1)
endif

ALL_CPPFLAGS := -D_GNU_SOURCE -I$(B)/gen $(CPPFLAGS)
ALL_CPPFLAGS += $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
LDLIBS += $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null) -lm

SRC := $(wildcard daemon/*.c daemon/*/*.c bisect/*.c)
OBJ := $(patsubst %.c,$(B)/obj/%.o,$(filter-out daemon/main.c,$(SRC)))
LIB := $(B)/libfaultline.a
BIN := $(B)/faultline
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/test-*.c))
HELPER := $(patsubst tests/helpers/%.c,$(B)/tests/%,$(wildcard tests/helpers/*.c))
BENCH := $(patsubst tests/bench/%.c,$(B)/tests/%,$(wildcard tests/bench/bench-*.c))
DEMO := $(B)/make-demo-tree

.DELETE_ON_ERROR:
.PHONY: all
all: $(BIN) $(DEMO) agent

-include jobs/Makefile.inc

$(BIN): $(B)/obj/daemon/main.o $(LIB)
	$(call say,LINK) $@
	$(Q)$(CC) $(ALL_CFLAGS) $(HARDEN) $(ALL_LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ)
	$(call say,AR) $@
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/obj/%.o: %.c
	$(call say,CC) $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HARDEN) -MMD -MP -c -o $@ $<

# Migrations are compiled in, one string each, in the order of their numbers.
$(B)/gen/migrations.h: $(sort $(wildcard schema/0*.sql))
	$(call say,GEN) $@
	@mkdir -p $(@D)
	$(Q){ echo 'static const char *const fl_migrations[] = {'; \
	  for f in $^; do sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $$f; \
	  echo ','; done; echo '};'; } > $@
$(B)/obj/daemon/store/db.o: $(B)/gen/migrations.h

$(B)/tests/%: tests/unit/%.c $(LIB)
	$(call say,TEST) $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HARDEN) $(ALL_LDFLAGS) -MMD -MP \
		-o $@ $< $(LIB) -lcmocka $(LDLIBS)
$(B)/tests/%: tests/helpers/%.c $(LIB)
	$(call say,TEST) $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HARDEN) $(ALL_LDFLAGS) -MMD -MP \
		-o $@ $< $(LIB) $(LDLIBS)
$(B)/tests/%: tests/bench/%.c $(LIB)
	$(call say,BENCH) $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HARDEN) $(ALL_LDFLAGS) -MMD -MP \
		-o $@ $< $(LIB) $(LDLIBS)
$(DEMO): $(wildcard tests/demo/*.c) $(LIB)
	$(call say,LINK) $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(HARDEN) $(ALL_LDFLAGS) -o $@ \
		$(wildcard tests/demo/*.c) $(LIB) $(LDLIBS)

.PHONY: demo check check-unit check-t check-boot check-layers check-san lint \
	analyze bench-bisect bench-compare bench-detect bench-overhead bench-perturb \
	install clean help tests-deps
demo:
	$(Q)tests/install-deps.sh demo
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) SEED=$(SEED) WITHOUT=$(WITHOUT) tests/demo/demo.sh

# All tests through prove: units, the real binary, one real build and boot.
# The slow one starts first, beside the others.
T := $(wildcard tests/t/*.t)
BOOT_T := $(wildcard tests/boot/*.t)
PROVE := prove --failures --timer
check:
	$(Q)tests/install-deps.sh check
	$(Q)$(MAKE) --no-print-directory all $(UNIT) $(HELPER)
	$(Q)B=$(B) $(PROVE) -j2 --exec '' $(BOOT_T) $(T) $(UNIT)
check-unit: $(UNIT)
	$(Q)$(PROVE) --exec '' $^
check-t: all $(HELPER)
	$(Q)B=$(B) $(PROVE) -j2 --exec '' $(T)
check-boot: all
	$(Q)B=$(B) $(PROVE) --exec '' $(BOOT_T)
check-layers:
	$(Q)tests/t/check-layers.sh
# Unit and shell tests once more under the address and undefined sanitizers.
check-san:
	$(Q)ASAN_OPTIONS=detect_leaks=0 $(MAKE) --no-print-directory \
		SAN=address,undefined check-unit check-t

bench-bisect: $(B)/tests/bench-bisect
	$(Q)$<
bench-compare: $(B)/tests/bench-compare
	$(Q)$<
bench-detect: $(B)/tests/bench-detect
	$(Q)$<
bench-overhead:
	$(Q)B=$(B) tests/bench/overhead.sh
bench-perturb: all
	$(Q)B=$(B) tests/bench/perturb.sh

C_FILES = $(wildcard daemon/*.[ch] daemon/*/*.[ch] bisect/*.[ch] \
	jobs/*/*.[ch] tests/*/*.[ch])
SHELL_FILES = $(wildcard tests/*.sh tests/*/*.sh tests/*/*.t) .ci/run
# cppcheck does not know the cleanup attribute; leaks are the sanitizers'.
lint: check-layers
	$(Q)tests/install-deps.sh lint
	$(Q)clang-format --dry-run -Werror $(C_FILES)
	$(Q)shellcheck -x $(SHELL_FILES)
	$(Q)mandoc -Tlint -Wwarning docs/*.[1-8]
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr \
		--enable=warning,portability --std=c11 -D_GNU_SOURCE \
		--include=tests/cppcheck.h \
		--suppress=missingIncludeSystem --suppress=varFuncNullUB \
		--suppress=resourceLeak --suppress=memleak daemon bisect jobs/pagefault
# clang-tidy knows the whole program path by path: a few minutes.
analyze: $(B)/gen/migrations.h
	$(Q)tests/install-deps.sh lint
	$(Q)printf '%s\n' $(filter-out daemon/main.c,$(SRC)) | \
		xargs -P2 -n1 sh -c 'clang-tidy --quiet "$$0" -- -std=gnu11 \
		$(ALL_CPPFLAGS) 2>/dev/null || exit 255'

install: all
	install -D $(BIN) $(DESTDIR)$(PREFIX)/bin/faultline
	install -D $(AGENT) $(DESTDIR)$(PREFIX)/libexec/faultline/faultline-agent
	install -D $(PROFILER) \
		$(DESTDIR)$(PREFIX)/libexec/faultline/faultline-agent-profile
	install -d $(DESTDIR)$(PREFIX)/share/faultline/jobs/config
	install -m644 jobs/*.json $(DESTDIR)$(PREFIX)/share/faultline/jobs
	install -m644 jobs/config/* $(DESTDIR)$(PREFIX)/share/faultline/jobs/config
	for f in docs/*.[1-8]; do install -Dm644 $$f \
		$(DESTDIR)$(PREFIX)/share/man/man$${f##*.}/$$(basename $$f); done

clean:
	rm -rf build

help:
	@echo 'all          faultline, the guest agent, make-demo-tree'
	@echo 'demo         a kernel tree with planted changes, fetch to mail'
	@echo '             (SEED=n, WITHOUT=regression|gain|both)'
	@echo 'check        all tests; check-unit, check-t, check-boot, check-san'
	@echo 'lint         format, layers, shell, man pages, cppcheck'
	@echo 'analyze      clang-tidy'
	@echo 'bench-bisect   the engine beside plain git bisect'
	@echo 'bench-compare  verdicts on two kernels beside the usual tests'
	@echo 'bench-detect   change points of histories beside two other ways'
	@echo 'bench-perturb  the noise of the exact clock, after make demo'
	@echo 'bench-overhead nightly against its raw work, after make demo'
	@echo 'install      DESTDIR, PREFIX;  clean'
	@echo 'Settings: V=1 DEV=1 SAN=address,undefined CC CFLAGS KSRC'

-include $(OBJ:.o=.d) $(B)/obj/daemon/main.d $(wildcard $(B)/tests/*.d)
