# Graphviz's library and its plugin for the layout "dot", which is linked and not looked for when the program runs.
# Gives the target Graphviz::Dot.
find_path(Graphviz_INCLUDE_DIR graphviz/gvc.h)
find_library(Graphviz_GVC_LIBRARY gvc)
find_library(Graphviz_CGRAPH_LIBRARY cgraph)
find_library(Graphviz_DOT_LIBRARY NAMES gvplugin_dot_layout libgvplugin_dot_layout.so.6 PATH_SUFFIXES graphviz)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Graphviz
  REQUIRED_VARS Graphviz_GVC_LIBRARY Graphviz_CGRAPH_LIBRARY Graphviz_DOT_LIBRARY Graphviz_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/setup.sh build")
if(Graphviz_FOUND AND NOT TARGET Graphviz::Dot)
  add_library(Graphviz::Dot SHARED IMPORTED)
  set_target_properties(Graphviz::Dot PROPERTIES
    IMPORTED_LOCATION ${Graphviz_DOT_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${Graphviz_INCLUDE_DIR};${Graphviz_INCLUDE_DIR}/graphviz"
    INTERFACE_LINK_LIBRARIES "${Graphviz_GVC_LIBRARY};${Graphviz_CGRAPH_LIBRARY}")
endif()
