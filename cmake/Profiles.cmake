# tenon_embed_profiles(<target>): the text of profiles/*.json becomes a source of the target, which defines
# built_in_profiles() of src/partition/chip/built_in.h.
function(tenon_embed_profiles target)
  file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/profiles/*.json)
  set(rows "")
  foreach(profile IN LISTS profiles)
    get_filename_component(name ${profile} NAME_WE)
    file(READ ${profile} text)
    string(APPEND rows "    {\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profiles})
  set(source ${CMAKE_BINARY_DIR}/generated/built_in_profiles.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"partition/chip/built_in.h\"

namespace tenon::partition {
namespace {

constexpr BuiltInProfile kProfiles[] = {
${rows}};

}  // namespace

std::span<const BuiltInProfile> built_in_profiles() { return kProfiles; }

}  // namespace tenon::partition
")
  target_sources(${target} PRIVATE ${source})
endfunction()
