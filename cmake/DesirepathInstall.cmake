# `cmake --install` gives the program, the libraries, the public headers and find_package(desirepath).
include(CMakePackageConfigHelpers)
get_property(_modules GLOBAL PROPERTY DESIREPATH_MODULES)
install(TARGETS ${_modules} EXPORT desirepathTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT desirepathTargets NAMESPACE desirepath:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/desirepath)
list(TRANSFORM _modules REPLACE "^desirepath_" "" OUTPUT_VARIABLE DESIREPATH_COMPONENTS)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/desirepathConfig.cmake.in
  ${PROJECT_BINARY_DIR}/desirepathConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/desirepath)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/desirepathConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/desirepathConfig.cmake ${PROJECT_BINARY_DIR}/desirepathConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindDuckDB.cmake ${PROJECT_SOURCE_DIR}/cmake/FindGraphviz.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindLibZip.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/desirepath)
# A DuckDB that was fetched travels with the installation; one of the system stays where it is.
if(DuckDB_LIBRARY MATCHES "/build/deps/")
  install(FILES ${DuckDB_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${DuckDB_INCLUDE_DIR}/duckdb.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
