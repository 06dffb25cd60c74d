/* Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
 *
 * The header is C99 without extensions; the build compiles this pedantically,
 * and CApiTest calls it. */

#include "ckpt_rt/ckpt_rt.h"

int c_sees_the_same_structs(size_t options, size_t tensor, size_t costs,
                            size_t command, size_t step, size_t statistics);

int c_sees_the_same_structs(size_t options, size_t tensor, size_t costs,
                            size_t command, size_t step, size_t statistics) {
  return options == sizeof(ckpt_rt_plan_options) &&
         tensor == sizeof(ckpt_rt_tensor) && costs == sizeof(ckpt_rt_costs) &&
         command == sizeof(ckpt_rt_command) &&
         step == sizeof(ckpt_rt_step_options) &&
         statistics == sizeof(ckpt_rt_statistics) &&
         ckpt_rt_api_version() == CKPT_RT_API_VERSION;
}
