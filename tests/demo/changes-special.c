// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commits of the demo tree that matter: one that does not compile and one
 * that panics, each with its fix, and the two that move KPIs. Their messages
 * are honest about the code, as real ones are, and miss what it costs.
 */
#include "demo.h"

/* In the order breaks, fix, panics, fix, regression, gain: see plan.c. */
const struct demo_change demo_special[] = {
	{ DEMO_BREAKS,
	  "xfs: let the MRU cache choose its number of groups",
	  "Ten groups make the lifetime accurate to about ten percent, which\n"
	  "is what its user wants and says in a comment. Keep that number with\n"
	  "the cache and drop the parameter of xfs_mru_cache_create().\n",
	  { { "fs/xfs/xfs_mru_cache.h",
	      "unsigned int lifetime_ms, unsigned int grp_count,",
	      "unsigned int lifetime_ms," },
	    { "fs/xfs/xfs_mru_cache.c",
	      "\tunsigned int\t\tlifetime_ms,\n"
	      "\tunsigned int\t\tgrp_count,\n"
	      "\txfs_mru_cache_free_func_t free_func)\n{\n",
	      "\tunsigned int\t\tlifetime_ms,\n"
	      "\txfs_mru_cache_free_func_t free_func)\n{\n"
	      "\tconst unsigned int\tgrp_count = 10;\n" } } },
	{ DEMO_BREAKS_FIX,
	  "xfs: adjust the caller of xfs_mru_cache_create()",
	  "The number of groups is no parameter any more, but the filestreams\n"
	  "still passed it, which does not compile.\n",
	  { { "fs/xfs/xfs_filestream.c",
	      "\t\t\txfs_fstrm_centisecs * 10, 10, xfs_fstrm_free_func);",
	      "\t\t\txfs_fstrm_centisecs * 10, xfs_fstrm_free_func);" } } },
	{ DEMO_PANICS,
	  "fs/buffer: derive the limit from the cache's object size",
	  "The limit on buffer heads divides by the size of the structure. Ask\n"
	  "the slab cache instead, so that both follow the same definition, and\n"
	  "compute the limit before anything can allocate from the cache.\n",
	  { { "fs/buffer.c",
	      "\tint ret;\n\n\tbh_cachep = KMEM_CACHE(buffer_head,\n"
	      "\t\t\t\tSLAB_RECLAIM_ACCOUNT|SLAB_PANIC);\n"
	      "\t/*\n"
	      "\t * Limit the bh occupancy to 10% of ZONE_NORMAL\n"
	      "\t */\n"
	      "\tnrpages = (nr_free_buffer_pages() * 10) / 100;\n"
	      "\tmax_buffer_heads = nrpages * (PAGE_SIZE / "
	      "sizeof(struct buffer_head));\n",
	      "\tint ret;\n\n"
	      "\t/*\n"
	      "\t * Limit the bh occupancy to 10% of ZONE_NORMAL\n"
	      "\t */\n"
	      "\tnrpages = (nr_free_buffer_pages() * 10) / 100;\n"
	      "\tmax_buffer_heads = nrpages * (PAGE_SIZE / "
	      "kmem_cache_size(bh_cachep));\n"
	      "\tbh_cachep = KMEM_CACHE(buffer_head,\n"
	      "\t\t\t\tSLAB_RECLAIM_ACCOUNT|SLAB_PANIC);\n" } } },
	{ DEMO_PANICS_FIX,
	  "fs/buffer: create the cache before asking for its size",
	  "buffer_init() passed a NULL cache to kmem_cache_size() and so every\n"
	  "boot ended in a NULL pointer dereference. Create the cache first.\n",
	  { { "fs/buffer.c",
	      "\tint ret;\n\n"
	      "\t/*\n"
	      "\t * Limit the bh occupancy to 10% of ZONE_NORMAL\n"
	      "\t */\n"
	      "\tnrpages = (nr_free_buffer_pages() * 10) / 100;\n"
	      "\tmax_buffer_heads = nrpages * (PAGE_SIZE / "
	      "kmem_cache_size(bh_cachep));\n"
	      "\tbh_cachep = KMEM_CACHE(buffer_head,\n"
	      "\t\t\t\tSLAB_RECLAIM_ACCOUNT|SLAB_PANIC);\n",
	      "\tint ret;\n\n\tbh_cachep = KMEM_CACHE(buffer_head,\n"
	      "\t\t\t\tSLAB_RECLAIM_ACCOUNT|SLAB_PANIC);\n"
	      "\t/*\n"
	      "\t * Limit the bh occupancy to 10% of ZONE_NORMAL\n"
	      "\t */\n"
	      "\tnrpages = (nr_free_buffer_pages() * 10) / 100;\n"
	      "\tmax_buffer_heads = nrpages * (PAGE_SIZE / "
	      "kmem_cache_size(bh_cachep));\n" } } },
	{ DEMO_REGRESSION,
	  "mm/memory: start with the smallest fault-around window",
	  "Fault-around maps pages that nobody has asked for yet, and these\n"
	  "count towards the RSS of the process from then on. How many of them\n"
	  "will be used depends on the workload, which the kernel cannot know.\n"
	  "Let the window start at its minimum; whoever wants a larger one sets\n"
	  "fault_around_bytes in debugfs, as before.\n",
	  { { "mm/memory.c",
	      "static unsigned long fault_around_pages __read_mostly =\n"
	      "\t65536 >> PAGE_SHIFT;",
	      "static unsigned long fault_around_pages __read_mostly =\n"
	      "\tPAGE_SIZE >> PAGE_SHIFT;" } } },
	{ DEMO_GAIN,
	  "mm/memory: treat file folios like shmem in finish_fault()",
	  "The page-by-page path is there for userfaultfd, and for mappings\n"
	  "that reach over the end of the file. For files it is an exception\n"
	  "without need: the folio is in the page cache as a whole, and read\n"
	  "faults map its other pages already. Drop the extra condition.\n",
	  { { "mm/memory.c",
	      "\t * Using per-page fault to maintain the uffd semantics, and same\n"
	      "\t * approach also applies to non-anonymous-shmem faults to avoid\n"
	      "\t * inflating the RSS of the process.\n"
	      "\t */\n"
	      "\tif (!vma_is_anon_shmem(vma) || unlikely(userfaultfd_armed(vma)) ||\n"
	      "\t    unlikely(needs_fallback)) {",
	      "\t * Using per-page fault to maintain the uffd semantics.\n"
	      "\t */\n"
	      "\tif (unlikely(userfaultfd_armed(vma)) || "
	      "unlikely(needs_fallback)) {" } } },
};

const size_t demo_nspecial = FL_ARRAY_SIZE(demo_special);
