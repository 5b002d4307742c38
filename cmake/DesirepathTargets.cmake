# How every target of the project is compiled, and the one way to declare a module.

add_library(desirepath_warnings INTERFACE)
target_compile_options(desirepath_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wundef -Wno-missing-field-initializers
  # g++ 12 is wrong about these in inlined standard containers, Eigen and its own AVX-512 headers; clang and
  # the sanitizers watch for the real ones.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # A source compiled together with others is not a header, though g++ takes it for one.
  $<$<AND:$<BOOL:${DESIREPATH_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # Clang calls a name hidden that is another source's of the batch; clang-tidy looks at each source alone, with -Wshadow.
  $<$<AND:$<BOOL:${DESIREPATH_UNITY}>,$<CXX_COMPILER_ID:Clang>>:-Wno-shadow>
  $<$<BOOL:${DESIREPATH_WERROR}>:-Werror>
  # A batch needs over a gigabyte in the end: collecting garbage before takes a tenth of the time and frees little.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=786432> $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=100>)

# -march stays private: a consumer built without it must lay Eigen's matrices out the same way, which
# EIGEN_MAX_ALIGN_BYTES=64 (public, on core) guarantees.
add_library(desirepath_machine INTERFACE)
if(DESIREPATH_ARCH)
  target_compile_options(desirepath_machine INTERFACE -march=${DESIREPATH_ARCH})
endif()

if(DESIREPATH_SANITIZE STREQUAL "address")
  # Eigen takes references to the first element of empty matrices; a null that is used the address sanitizer finds.
  # A number too large for the whole one that it becomes: clang counts it as undefined, g++ asks for it by name.
  # Alignment is a quarter of g++'s compile time; clang looks at it in the fuzz targets, where bytes become numbers.
  add_compile_options(-fsanitize=address,undefined,float-cast-overflow -fno-sanitize=null -fno-sanitize-recover=all
    -fno-omit-frame-pointer $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=alignment>)
  add_link_options(-fsanitize=address,undefined,float-cast-overflow)
elseif(DESIREPATH_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(DESIREPATH_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(DESIREPATH_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# desirepath_headers_stand_alone(TARGET FOLDER [public headers...]): with CMAKE_VERIFY_INTERFACE_HEADER_SETS (preset
# headers) each header of the folder is compiled alone; TARGET's own file set covers the public ones.
function(desirepath_headers_stand_alone target folder)
  if(NOT CMAKE_VERIFY_INTERFACE_HEADER_SETS)
    return()
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  list(REMOVE_ITEM headers ${ARGN})
  if(headers)
    add_library(${target}_internal INTERFACE)
    target_sources(${target}_internal INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    target_link_libraries(${target}_internal INTERFACE desirepath_warnings)
    target_compile_features(${target}_internal INTERFACE cxx_std_20)
    target_compile_definitions(${target}_internal INTERFACE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    target_include_directories(${target}_internal INTERFACE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  endif()
endfunction()

# Most of the compiler's time goes into headers of libraries: the sources of a target are compiled in batches that read
# them once. Names in unnamed namespaces are therefore unique within a folder.
function(desirepath_compile_together target batch)
  if(DESIREPATH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# Headers of libraries that most sources read, compiled once for all modules with the same flags: the first of them
# compiles, the others reuse. The first may have no definitions that the others lack.
function(desirepath_precompile_headers target flags)
  if(NOT DESIREPATH_PRECOMPILED)
    return()
  endif()
  get_property(first GLOBAL PROPERTY DESIREPATH_PRECOMPILED_${flags})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY DESIREPATH_PRECOMPILED_${flags} ${target})
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional>
      <ranges> <span> <string> <string_view> <utility> <variant> <vector> <Eigen/Core> <nlohmann/json.hpp>)
  endif()
endfunction()

# desirepath_module(NAME [NUMERICAL|ROUNDED] SOURCES a.cpp ... HEADERS public.h ... PUBLIC deps... PRIVATE deps... [BATCH 16])
# HEADERS are what is installed; the module's other headers are its own. Of PRIVATE, BUILD_INTERFACE what consists of
# headers: then those who use the installed library need not have it. The release build optimises a NUMERICAL module
# with -O3, the others with -O2, which compiles faster and runs as fast. In a ROUNDED module no product is fused into an
# addition: it gives the same bytes on every machine.
function(desirepath_module name)
  cmake_parse_arguments(ARG "NUMERICAL;ROUNDED" "BATCH" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  if(NOT ARG_BATCH)
    set(ARG_BATCH 16)
  endif()
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ARG_HEADERS PREPEND ${folder}/ REGEX "^[^/]")
  add_library(desirepath_${name} STATIC ${ARG_SOURCES})
  add_library(desirepath::${name} ALIAS desirepath_${name})
  set_target_properties(desirepath_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(desirepath_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated FILES ${ARG_HEADERS})
  target_compile_features(desirepath_${name} PUBLIC cxx_std_20)
  target_link_libraries(desirepath_${name}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:desirepath_warnings> $<BUILD_INTERFACE:desirepath_machine> ${ARG_PRIVATE})
  desirepath_compile_together(desirepath_${name} ${ARG_BATCH})
  if(ARG_NUMERICAL)
    desirepath_precompile_headers(desirepath_${name} numerical)
  else()
    target_compile_options(desirepath_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    if(NOT ARG_ROUNDED)
      desirepath_precompile_headers(desirepath_${name} plain)
    endif()
  endif()
  if(ARG_ROUNDED)
    target_compile_options(desirepath_${name} PRIVATE -ffp-contract=off)
  endif()
  desirepath_headers_stand_alone(desirepath_${name} ${folder} ${ARG_HEADERS})
  set_property(GLOBAL APPEND PROPERTY DESIREPATH_MODULES desirepath_${name})
endfunction()
