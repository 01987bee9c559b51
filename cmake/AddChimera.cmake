# Chimera's libraries are MLIR libraries with an export set of their own, so
# that a consumer finds them with find_package(Chimera).

# chimera_mlir_libs(VARIABLE libraries...): the libraries with MLIR's components
# replaced by libMLIR.so where that is what we link. A program that linked a
# component beside it would hold two copies of every dialect's type ids.
function(chimera_mlir_libs variable)
  set(libs ${ARGN})
  if(MLIR_LINK_MLIR_DYLIB)
    list(TRANSFORM libs REPLACE "^MLIR.+$" "MLIR")
    list(REMOVE_DUPLICATES libs)
  endif()
  set(${variable} ${libs} PARENT_SCOPE)
endfunction()

# MLIR's headers take most of the time to compile a file. With
# CHIMERA_PRECOMPILE_HEADERS they are read once for all libraries that use them;
# a file that forgets one is then found by builds without.
function(chimera_precompile_headers name)
  if(NOT TARGET ChimeraPrecompiled)
    add_library(ChimeraPrecompiled OBJECT "${CHIMERA_SOURCE_DIR}/cmake/Precompiled.cpp")
    llvm_update_compile_flags(ChimeraPrecompiled)
    target_precompile_headers(ChimeraPrecompiled PRIVATE
      <llvm/ADT/STLExtras.h>
      <mlir/Dialect/Affine/IR/AffineOps.h>
      <mlir/Dialect/Arith/IR/Arith.h>
      <mlir/Dialect/Bufferization/IR/Bufferization.h>
      <mlir/Dialect/Func/IR/FuncOps.h>
      <mlir/Dialect/LLVMIR/LLVMDialect.h>
      <mlir/Dialect/Linalg/IR/Linalg.h>
      <mlir/Dialect/Math/IR/Math.h>
      <mlir/Dialect/MemRef/IR/MemRef.h>
      <mlir/Dialect/SCF/IR/SCF.h>
      <mlir/Dialect/Tensor/IR/Tensor.h>
      <mlir/Dialect/Vector/IR/VectorOps.h>
      <mlir/IR/Matchers.h>
      <mlir/Pass/PassManager.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM ChimeraPrecompiled)
endfunction()

# chimera_uses_mlir(VARIABLE libraries...): whether MLIR is among the libraries
# or what Chimera's among them use.
function(chimera_uses_mlir variable)
  set(uses OFF)
  foreach(lib ${ARGN})
    if(lib MATCHES "^MLIR")
      set(uses ON)
    elseif(TARGET ${lib})
      get_target_property(inherited ${lib} CHIMERA_USES_MLIR)
      if(inherited)
        set(uses ON)
      endif()
    endif()
  endforeach()
  set(${variable} ${uses} PARENT_SCOPE)
endfunction()

# add_chimera_library(NAME sources... [DEPENDS ...] [LINK_COMPONENTS ...]
#                     [LINK_LIBS PUBLIC ...])
function(add_chimera_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_COMPONENTS;LINK_LIBS" ${ARGN})
  chimera_mlir_libs(link_libs ${ARG_LINK_LIBS})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    EXCLUDE_FROM_LIBMLIR DISABLE_INSTALL
    DEPENDS ${ARG_DEPENDS}
    LINK_COMPONENTS ${ARG_LINK_COMPONENTS}
    LINK_LIBS ${link_libs})
  chimera_uses_mlir(uses_mlir ${link_libs})
  set_target_properties(${name} PROPERTIES CHIMERA_USES_MLIR ${uses_mlir})
  if(CHIMERA_PRECOMPILE_HEADERS AND uses_mlir)
    chimera_precompile_headers(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY CHIMERA_INSTALLED_TARGETS ${name})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${CHIMERA_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CHIMERA_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT ChimeraTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# add_chimera_program(NAME sources... [INCLUDES ...] [LINK_LIBS ...]): an
# executable.
function(add_chimera_program name)
  cmake_parse_arguments(ARG "" "" "INCLUDES;LINK_LIBS" ${ARGN})
  chimera_mlir_libs(link_libs ${ARG_LINK_LIBS})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  llvm_update_compile_flags(${name})
  target_include_directories(${name} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${name} PRIVATE ${link_libs})
  chimera_uses_mlir(uses_mlir ${link_libs})
  if(CHIMERA_PRECOMPILE_HEADERS AND uses_mlir)
    chimera_precompile_headers(${name})
  endif()
endfunction()

# add_chimera_shared_library(NAME SHARED|MODULE sources... EXPORTS pattern
#                            [LINK_LIBS ...])
#
# A library for programs that are not compiled with Chimera: all of Chimera is in
# it, and only C symbols that match the pattern are seen from outside.
function(add_chimera_shared_library name kind)
  cmake_parse_arguments(ARG "" "EXPORTS" "LINK_LIBS" ${ARGN})
  chimera_mlir_libs(link_libs ${ARG_LINK_LIBS})
  add_library(${name} ${kind} ${ARG_UNPARSED_ARGUMENTS})
  llvm_update_compile_flags(${name})
  set(exports "${CMAKE_CURRENT_BINARY_DIR}/${name}.exports")
  file(CONFIGURE OUTPUT "${exports}" CONTENT "{ global: @ARG_EXPORTS@; local: *; };\n" @ONLY)
  target_link_options(${name} PRIVATE "LINKER:--version-script=${exports}")
  if(CHIMERA_ENABLE_SANITIZERS)
    # Their runtime is in the program.
    target_link_options(${name} PRIVATE "LINKER:-z,undefs")
  endif()
  set_target_properties(${name} PROPERTIES
    LINK_DEPENDS "${exports}"
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE ${link_libs})
  set_property(GLOBAL APPEND PROPERTY CHIMERA_INSTALLED_TARGETS ${name})
  install(TARGETS ${name} EXPORT ChimeraTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_chimera_unittest(NAME [INCLUDES ...] [LINK_LIBS ...]): the tests in the
# folder's files, which check-chimera builds and runs.
function(add_chimera_unittest name)
  cmake_parse_arguments(ARG "" "" "INCLUDES;LINK_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  add_chimera_program(${name} ${sources}
    INCLUDES ${ARG_INCLUDES}
    LINK_LIBS ${ARG_LINK_LIBS} GTest::gtest_main)
  gtest_discover_tests(${name})
  set_property(GLOBAL APPEND PROPERTY CHIMERA_TEST_PROGRAMS ${name})
endfunction()

# add_chimera_tool(NAME sources... [LINK_LIBS ...]): a program that is installed.
function(add_chimera_tool name)
  add_chimera_program(${name} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY CHIMERA_INSTALLED_TARGETS ${name})
  install(TARGETS ${name} EXPORT ChimeraTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
