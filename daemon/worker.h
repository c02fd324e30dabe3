/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker child: does one piece of blocking work as its spec.json says
 * and leaves a bundle. It never opens the database. The formats are in
 * schema/bundle.schema.json.
 *
 * spec.json   what to do, self-contained; written by the planner
 * progress    "<step> <share>" while it works
 * out/        artefacts: image, logs
 * result.json the end, by rename: {"kind", "status": "done|failed|retry", …};
 *             failed and retry carry "error" (user and infra class)
 */
#ifndef FL_WORKER_H
#define FL_WORKER_H

#include "util/err.h"

#define FL_WORKER_SPEC "spec.json"
#define FL_WORKER_RESULT "result.json"
#define FL_WORKER_PROGRESS "progress"
#define FL_WORKER_OUT "out"

/* dir: the folder with spec.json. Trouble of the work itself goes into
 * result.json; negative only when not even that can be written. */
int fl_worker_main(const char *dir, struct fl_err *err);

#endif
