include(${CMAKE_CURRENT_LIST_DIR}/CkptTargets.cmake)
