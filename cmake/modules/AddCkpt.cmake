# Thin wrappers; each directory lists its own sources and LINK_LIBS.

# ckpt's own warnings. LLVM's headers are system headers and stay silent.
add_compile_options(-Wall -Wextra -Wno-unused-parameter)

# add_ckpt_runtime_library(name sources... LINK_LIBS libs...): part of the
# LLVM-free half; neither exceptions nor LLVM.
function(add_ckpt_runtime_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/runtime/lib
                                            ${CMAKE_SOURCE_DIR}/runtime/include)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(CKPT_SANITIZE)
    target_compile_options(${name} PUBLIC -fsanitize=${CKPT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${name} PUBLIC -fsanitize=${CKPT_SANITIZE})
  endif()
endfunction()

# add_ckpt_library(name sources... DEPENDS targets... LINK_LIBS libs...): part
# of the compiler, built as LLVM is: no exceptions, no RTTI.
function(add_ckpt_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include
                                            ${CMAKE_BINARY_DIR}/include)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  add_dependencies(${name} CkptIncGen ${ARG_DEPENDS})
endfunction()
