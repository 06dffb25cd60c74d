# Installs the build into a folder, moves nothing else, and builds the consumer
# against it. Called by ctest with BUILD_DIR, SOURCE_DIR, WORK_DIR.
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  message("${output}")
  if(code)
    message(FATAL_ERROR "failed with ${code}: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_C_COMPILER=${C_COMPILER})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
# The installed tools find their libraries by themselves.
run(${WORK_DIR}/prefix/bin/ckpt-run ${EXAMPLES}/twins/minilm.mlir
    --dim tokens=5 --blocks=2)
