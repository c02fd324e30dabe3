# SPDX-License-Identifier: GPL-2.0-or-later
# Faultline. `make help` lists the targets; settings go into config.mak.
-include config.mak

CC ?= gcc
PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
PKG_CONFIG ?= pkg-config
B := build

LIBS := libgit2 libcurl sqlite3 jansson libsystemd libarchive libRmath nettle
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef \
	-Wimplicit-fallthrough
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
ALL_CPPFLAGS := -D_GNU_SOURCE -I$(B)/gen $(CPPFLAGS)
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now $(LDFLAGS)

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
say = @printf '  %-7s %s\n'
endif
comma := ,

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

-include $(OBJ:.o=.d) $(wildcard $(B)/tests/*.d)
