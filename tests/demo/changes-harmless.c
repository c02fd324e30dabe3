// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commits of the demo tree that move no KPI: documentation, drivers that the
 * demo's config leaves out, and compiled code beside the fault path.
 */
#include "demo.h"

const struct demo_change demo_harmless[] = {
	{ DEMO_DOC,
	  "Documentation/mm: fix the plural of pfn in page_tables",
	  "The text on 16KB pages says \"pfs\" where it talks of page frame\n"
	  "numbers. Spell it like the paragraph before.\n",
	  { { "Documentation/mm/page_tables.rst", "With 16KB pages pfs are",
	      "With 16KB pages pfns are" } } },
	{ DEMO_DOC,
	  "Documentation/filesystems: tmpfs: fix an article",
	  "\"An regular\" is wrong, and a file system is created on top of a\n"
	  "ramdisk.\n",
	  { { "Documentation/filesystems/tmpfs.rst",
	      "create an regular filesystem on top\nthis ramdisk.",
	      "create a regular filesystem on top\nof this ramdisk." } } },
	{ DEMO_DOC,
	  "Documentation/admin-guide: transhuge: fix a typo",
	  "Correct the spelling of \"appropriately\".\n",
	  { { "Documentation/admin-guide/mm/transhuge.rst",
	      "and approporiately aligned", "and appropriately aligned" } } },
	{ DEMO_DOC,
	  "Documentation/filesystems: ext4: add a missing verb",
	  "The overview says how the size of a block group is found, but not\n"
	  "in a full sentence.\n",
	  { { "Documentation/filesystems/ext4/overview.rst",
	      "it can also calculated as", "it can also be calculated as" } } },

	{ DEMO_DRIVER,
	  "i2c: i801: print the error when the mux device fails",
	  "A message without the reason makes people enable debugging first.\n"
	  "Print the error number as the other messages of the probe do.\n",
	  { { "drivers/i2c/busses/i2c-i801.c",
	      "\t\tdev_err(dev, \"Failed to register i2c-mux-gpio device\\n\");",
	      "\t\tdev_err(dev, \"Failed to register i2c-mux-gpio device (%ld)\\n\",\n"
	      "\t\t\tPTR_ERR(priv->mux_pdev));" } } },
	{ DEMO_DRIVER,
	  "hwmon: (coretemp) do not split a message",
	  "A message in two string literals cannot be found with grep. Put it\n"
	  "on one line.\n",
	  { { "drivers/hwmon/coretemp.c",
	      "\t\t\t\t \"Unable to access MSR 0x17, assuming desktop\"\n"
	      "\t\t\t\t \" CPU\\n\");",
	      "\t\t\t\t \"Unable to access MSR 0x17, assuming desktop CPU\\n\");" } } },
	{ DEMO_DRIVER,
	  "nvme-pci: say that the queue depth was raised",
	  "With shared tags the depth grows to the smallest value that works,\n"
	  "so \"clamped\" leads readers to look for a limit above it.\n",
	  { { "drivers/nvme/host/pci.c", "IO queue depth clamped to %d\\n",
	      "IO queue depth raised to %d\\n" } } },
	{ DEMO_DRIVER,
	  "8139too: name the register of a dead chip",
	  "The chip counts as dead because TxConfig reads as all ones. Say so,\n"
	  "as boards behind broken bridges show the same symptom.\n",
	  { { "drivers/net/ethernet/realtek/8139too.c",
	      "\"Chip not responding, ignoring board\\n\"",
	      "\"Chip not responding (TxConfig), ignoring board\\n\"" } } },
	{ DEMO_DRIVER,
	  "watchdog: iTCO_wdt: print the error by its name",
	  "Use %pe, which needs no table at hand to read it.\n",
	  { { "drivers/watchdog/iTCO_wdt.c",
	      "\t\tdev_err(dev, \"cannot register watchdog device (err=%d)\\n\", ret);",
	      "\t\tdev_err(dev, \"cannot register watchdog device (%pe)\\n\",\n"
	      "\t\t\tERR_PTR(ret));" } } },

	{ DEMO_NEUTRAL,
	  "mm/swapfile: state that a header version is unsupported",
	  "The version is unsigned, and the message should say what is wrong\n"
	  "rather than what the kernel is unable to do.\n",
	  { { "mm/swapfile.c",
	      "pr_warn(\"Unable to handle swap header version %d\\n\",",
	      "pr_warn(\"Swap header version %u is not supported\\n\"," } } },
	{ DEMO_NEUTRAL,
	  "mm/oom_kill: say which order compaction cannot serve",
	  "Three exclamation marks do not help the reader of a log; the order\n"
	  "of the failed allocation does.\n",
	  { { "mm/oom_kill.c", "\t\tpr_warn(\"COMPACTION is disabled!!!\\n\");",
	      "\t\tpr_warn(\"compaction is not built in, order %d needs it\\n\",\n"
	      "\t\t\toc->order);" } } },
	{ DEMO_NEUTRAL,
	  "mm/show_mem: print the page cache in kB as well",
	  "All other lines of the report can be read without a calculator.\n",
	  { { "mm/show_mem.c",
	      "\tprintk(\"%ld total pagecache pages\\n\", "
	      "global_node_page_state(NR_FILE_PAGES));",
	      "\tprintk(\"%ld total pagecache pages (%lukB)\\n\",\n"
	      "\t       global_node_page_state(NR_FILE_PAGES),\n"
	      "\t       K(global_node_page_state(NR_FILE_PAGES)));" } } },
	{ DEMO_NEUTRAL,
	  "tmpfs: print the error when the internal mount fails",
	  "The boot goes on without shared memory then, and the log does not\n"
	  "say why.\n",
	  { { "mm/shmem.c", "\t\tpr_err(\"Could not kern_mount tmpfs\\n\");",
	      "\t\tpr_err(\"Could not kern_mount tmpfs: %d\\n\", error);" } } },
	{ DEMO_NEUTRAL,
	  "fs: write /proc/filesystems without the format parser",
	  "Two strings and two characters need no format. The output is the\n"
	  "same.\n",
	  { { "fs/filesystems.c",
	      "\t\tseq_printf(m, \"%s\\t%s\\n\",\n"
	      "\t\t\t(tmp->fs_flags & FS_REQUIRES_DEV) ? \"\" : \"nodev\",\n"
	      "\t\t\ttmp->name);",
	      "\t\tif (!(tmp->fs_flags & FS_REQUIRES_DEV))\n"
	      "\t\t\tseq_puts(m, \"nodev\");\n"
	      "\t\tseq_putc(m, '\\t');\n"
	      "\t\tseq_puts(m, tmp->name);\n"
	      "\t\tseq_putc(m, '\\n');" } } },
	{ DEMO_NEUTRAL,
	  "xfs: show the values when sunit and swidth disagree",
	  "The message that follows the check of the multiple prints both\n"
	  "numbers; do the same here.\n",
	  { { "fs/xfs/xfs_super.c",
	      "\t\txfs_warn(mp, \"sunit and swidth must be specified together\");",
	      "\t\txfs_warn(mp,\n"
	      "\t\"sunit (%d) and swidth (%d) must be specified together\",\n"
	      "\t\t\tmp->m_dalign, mp->m_swidth);" } } },
	{ DEMO_NEUTRAL,
	  "ext4: drop the newline from a bigalloc message",
	  "ext4_msg() ends the line itself, so this one left an empty line in\n"
	  "the log.\n",
	  { { "fs/ext4/super.c", "\t\t\t \"extents feature\\n\");",
	      "\t\t\t \"extents feature\");" } } },
	{ DEMO_NEUTRAL,
	  "mm/vmstat: explain why nr_writeback is left out",
	  "The refresh checks every counter but one, and nothing in the loop\n"
	  "says so. A comment only, no functional change.\n",
	  { { "mm/vmstat.c",
	      "\t\tswitch (i) {\n\t\tcase NR_WRITEBACK:\n\t\t\tcontinue;",
	      "\t\tswitch (i) {\n"
	      "\t\tcase NR_WRITEBACK: /* may be negative for a moment */\n"
	      "\t\t\tcontinue;" } } },
};

const size_t demo_nharmless = FL_ARRAY_SIZE(demo_harmless);

/* Before the stable release; what such a branch carries on a quiet week. */
const struct demo_change demo_stable[] = {
	{ DEMO_DOC,
	  "Documentation/admin-guide: mm: fix an adverb in concepts",
	  "Memory is slow relative to the CPU.\n",
	  { { "Documentation/admin-guide/mm/concepts.rst",
	      "accesses are slow relatively to CPU speed.",
	      "accesses are slow relative to CPU speed." } } },
	{ DEMO_DRIVER,
	  "usb-storage: treat a missing host as an error",
	  "The probe fails right after this message, so it is no warning.\n",
	  { { "drivers/usb/storage/usb.c",
	      "\t\tdev_warn(&intf->dev, \"Unable to allocate the scsi host\\n\");",
	      "\t\tdev_err(&intf->dev, \"Unable to allocate the scsi host\\n\");" } } },
	{ DEMO_NEUTRAL,
	  "xfs: print sector sizes in the order they are compared",
	  "The superblock's size comes first in the check and in the manual.\n",
	  { { "fs/xfs/xfs_mount.c",
	      "\"device supports %u byte sectors (not %u)\"",
	      "\"device has %u byte sectors, the superblock says %u\"" } } },
};

const size_t demo_nstable = FL_ARRAY_SIZE(demo_stable);
