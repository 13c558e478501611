// Continues prompts with a decoder: a folder of onnxruntime-genai's model builder, or a program that
// `tenon generate FOLDER --save model.tenon` wrote. Prompts and tokens are ids; all prompts run together.
//   example_generate model.tenon 1,5,9 7,7
#include <tenon/token_generator.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<int64_t> parse_ids(const std::string& text) {
  std::vector<int64_t> ids;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    ids.push_back(std::stoll(word));
  }
  return ids;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::cout << "usage: " << arguments[0] << " MODEL ID,ID,... [ID,ID,...]\n";
    return 0;
  }
  try {
    const tenon::TokenGenerator generator(arguments[1]);
    std::vector<tenon::GenerationRequest> requests;
    for (int i = 2; i < count; ++i) {
      requests.push_back(generator.submit(parse_ids(arguments[i]), {.max_new_tokens = 32}));
    }
    while (generator.step()) {  // others may join and leave between steps
    }
    for (const tenon::GenerationRequest& request : requests) {
      const tenon::Generation result = request.result();
      for (const int64_t token : result.ids) {
        std::cout << token << ' ';
      }
      std::cout << "(" << result.reason << ", the first after " << result.first_seconds * 1e3 << " ms)\n";
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
