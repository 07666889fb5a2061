/* SPDX-License-Identifier: MIT
 *
 * nest_instances: the specialised operations, one file per kind and group size
 * so that they compile side by side.
 */
#ifndef NIDUS_TABLE_NEST_INSTANCES_H
#define NIDUS_TABLE_NEST_INSTANCES_H

#include "table/ops.h"

const struct body_ops *nest_xor_2(unsigned width);
const struct body_ops *nest_xor_4(unsigned width);
const struct body_ops *nest_xor_8(unsigned width);
const struct body_ops *nest_direct_2(unsigned width);
const struct body_ops *nest_direct_4(unsigned width);
const struct body_ops *nest_direct_8(unsigned width);
const struct body_ops *nest_coded_4(unsigned width);
const struct body_ops *nest_buckets_2(unsigned width);
const struct body_ops *nest_buckets_4(unsigned width);
const struct body_ops *nest_windows_2(unsigned width);
const struct body_ops *nest_windows_4(unsigned width);

#endif
