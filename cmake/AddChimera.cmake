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

# chimera_precompile_headers(): lets every target of CHIMERA_PRECOMPILED_TARGETS read
# the headers it includes from a set that is compiled once. cmake/includes.py has the
# sets and chooses.
function(chimera_precompile_headers)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(program "${CHIMERA_SOURCE_DIR}/cmake/includes.py")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${program}")
  get_property(targets GLOBAL PROPERTY CHIMERA_PRECOMPILED_TARGETS)
  foreach(target ${targets})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(TRANSFORM sources PREPEND "${folder}/" REGEX "^[^/]")
    get_property(folders DIRECTORY "${folder}" PROPERTY INCLUDE_DIRECTORIES)
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" "${program}" "--folders=${folders}" ${sources}
      OUTPUT_VARIABLE set OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
    if(NOT set STREQUAL "-")
      chimera_precompiled_set(${set})
      target_precompile_headers(${target} REUSE_FROM ChimeraPrecompiled_${set})
    endif()
  endforeach()
endfunction()

# chimera_precompiled_set(name): the target that compiles the set of that name.
function(chimera_precompiled_set name)
  set(target ChimeraPrecompiled_${name})
  if(NOT TARGET ${target})
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" "${CHIMERA_SOURCE_DIR}/cmake/includes.py" --set=${name}
      OUTPUT_VARIABLE headers OUTPUT_STRIP_TRAILING_WHITESPACE
      COMMAND_ERROR_IS_FATAL ANY)
    add_library(${target} OBJECT "${CHIMERA_SOURCE_DIR}/cmake/Precompiled.cpp")
    llvm_update_compile_flags(${target})
    target_precompile_headers(${target} PRIVATE ${headers})
    add_dependencies(${target} ChimeraIRIncGen)
  endif()
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
  set_property(GLOBAL APPEND PROPERTY CHIMERA_PRECOMPILED_TARGETS ${name})
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

# add_chimera_program(NAME sources... [OPTIONS ...] [INCLUDES ...] [LINK_LIBS ...]):
# an executable.
function(add_chimera_program name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;INCLUDES;LINK_LIBS" ${ARGN})
  chimera_mlir_libs(link_libs ${ARG_LINK_LIBS})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  llvm_update_compile_flags(${name})
  target_include_directories(${name} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${name} PRIVATE ${link_libs})
  if(ARG_OPTIONS)
    target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  else()
    # A compiler takes a set only with the options that the set was compiled with.
    set_property(GLOBAL APPEND PROPERTY CHIMERA_PRECOMPILED_TARGETS ${name})
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
  set_property(GLOBAL APPEND PROPERTY CHIMERA_PRECOMPILED_TARGETS ${name})
  set_property(GLOBAL APPEND PROPERTY CHIMERA_INSTALLED_TARGETS ${name})
  install(TARGETS ${name} EXPORT ChimeraTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_chimera_unittest(NAME [OPTIONS ...] [INCLUDES ...] [LINK_LIBS ...]): the tests
# in the folder's files, which check-chimera builds and runs.
function(add_chimera_unittest name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;INCLUDES;LINK_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  add_chimera_program(${name} ${sources}
    OPTIONS ${ARG_OPTIONS}
    INCLUDES ${ARG_INCLUDES}
    LINK_LIBS ${ARG_LINK_LIBS} GTest::gtest_main)
  # Tests name what only they have by one word.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
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
