// Programs inside of other programs: no file at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/build_program.h"
#include "tenon/machine.h"

namespace tenon {

enum class EmbedForm {
  object,   ///< an object file
  archive,  ///< a static library of one object
  source,   ///< C
};

/// `object`, `static`, `c`. Error: another word.
EmbedForm embed_form(std::string_view word);
/// What files of the form end with: ".o", ".a", ".c".
std::string_view suffix(EmbedForm form);

/// Error: no file of the form can hold a program for all of these machines.
void require_embeddable(EmbedForm form, const std::vector<Machine>& machines);

/// build_program() of a file that becomes another, which errors name as `called`.
void build_program_as(Graph graph, const std::string& path, const BuildOptions& options, const std::string& called);

/// Writes the program of a file as `output`, and beside it a C header, whose path is returned. Functions in it begin
/// with the name of the output. Each file appears whole or not at all. Error: as above; a program that is too large.
std::string embed_program(const std::string& program, const std::string& output, EmbedForm form);

}  // namespace tenon
