// A small GPT learns the letters of a text: embeddings, two blocks of causal attention, AdamW with a schedule.
// Sequences have a new length at every step, and all of them run the same program.
//   tiny_gpt [FILE]
#include <tenon/tenon.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

using namespace tenon;

namespace {

constexpr int64_t kWidth = 64, kHeads = 4, kLongest = 64, kBatch = 8;

struct Block : nn::Module {
  nn::LayerNorm norm1 = child("norm1", nn::LayerNorm({kWidth}));
  nn::MultiheadAttention attention = child("attention", nn::MultiheadAttention(kWidth, kHeads));
  nn::LayerNorm norm2 = child("norm2", nn::LayerNorm({kWidth}));
  nn::Linear up = child("up", nn::Linear(kWidth, 4 * kWidth));
  nn::Linear down = child("down", nn::Linear(4 * kWidth, kWidth));

  Tensor operator()(Tensor x) const {
    x = x + attention(norm1(x), /*causal=*/true);
    return x + down(gelu(up(norm2(x))));
  }
};

struct Gpt : nn::Module {
  explicit Gpt(int64_t letters)
      : words(child("words", nn::Embedding(letters, kWidth))), out(child("out", nn::Linear(kWidth, letters))) {
    nn::init::normal_(words.weight, 0, 0.1);
    nn::init::normal_(positions.weight, 0, 0.1);
  }

  nn::Embedding words;
  nn::Embedding positions = child("positions", nn::Embedding(kLongest, kWidth));
  Block first = child("first", Block());
  Block second = child("second", Block());
  nn::LayerNorm norm = child("norm", nn::LayerNorm({kWidth}));
  nn::Linear out;

  /// tokens[batch, seq] to logits[batch, seq, letters].
  Tensor operator()(const Tensor& tokens) const {
    const Tensor x = words(tokens) + positions.weight.slice_axis(0, 0, tokens.size(1));
    return out(norm(second(first(x))));
  }
};

/// A text as numbers of letters.
struct Text {
  std::string letters;  // each once
  std::vector<int64_t> tokens;

  explicit Text(const std::string& text) {
    for (const char letter : text) {
      size_t at = letters.find(letter);
      if (at == std::string::npos) {
        at = letters.size();
        letters += letter;
      }
      tokens.push_back(static_cast<int64_t>(at));
    }
  }
};

struct Batch {
  Tensor tokens, next;
};

/// Pieces of the text, and the letters that follow each of theirs. Both axes have names: any length is as good.
Batch pieces(const Text& text, int64_t length, std::mt19937& rng) {
  std::vector<int64_t> tokens;
  std::vector<int64_t> next;
  for (int64_t i = 0; i < kBatch; ++i) {
    const auto begin = text.tokens.begin() + static_cast<int64_t>(rng() % (text.tokens.size() - kLongest - 1));
    tokens.insert(tokens.end(), begin, begin + length);
    next.insert(next.end(), begin + 1, begin + 1 + length);
  }
  return {tensor(Array::from<int64_t>({kBatch, length}, tokens), {"batch", "seq"}),
          tensor(Array::from<int64_t>({kBatch, length}, next), {"batch", "seq"})};
}

/// Go on with a text, always by the likeliest letter.
std::string continued(const Gpt& gpt, const Text& text, std::string so_far, int count) {
  const NoGrad no_grad;
  for (int i = 0; i < count; ++i) {
    const std::string seen = so_far.substr(so_far.size() - std::min<size_t>(so_far.size(), kLongest));
    std::vector<int64_t> tokens;
    for (const char letter : seen) {
      tokens.push_back(static_cast<int64_t>(text.letters.find(letter)));
    }
    const Tensor logits = gpt(tensor(Array::from<int64_t>({1, std::ssize(tokens)}, tokens), {"batch", "seq"}));
    const Tensor last = logits.slice_axis(1, logits.size(1) - 1);
    so_far += text.letters[static_cast<size_t>(last.argmax(-1).item())];
  }
  return so_far;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "examples/tiny_gpt.txt");
  const Text text(std::string(std::istreambuf_iterator<char>(file), {}));
  if (std::ssize(text.tokens) < 2 * kLongest) {
    std::cerr << "there is no text of " << 2 * kLongest << " letters and more\n";
    return 1;
  }
  manual_seed(1);
  std::mt19937 rng(2);
  const Gpt gpt(std::ssize(text.letters));
  optim::AdamW optimizer(gpt.parameters(), {.learning_rate = 3e-3});
  constexpr int64_t steps = 300;
  const optim::Schedule rate = optim::with_warmup(20, optim::cosine(3e-3, steps, 3e-4));
  std::cout << text.tokens.size() << " letters, " << text.letters.size() << " different ones, " << gpt.parameter_count()
            << " parameters\n";

  const int64_t compiles = realization_counts().compiles;
  double first = 0;
  double recent = 0;  // of the last steps, on average
  for (int64_t step = 0; step < steps; ++step) {
    const auto length = static_cast<int64_t>(16 + rng() % (kLongest - 16 + 1));
    const Batch batch = pieces(text, length, rng);
    optimizer.set_learning_rate(rate(step));
    const Tensor loss = cross_entropy(gpt(batch.tokens), batch.next, {}, "mean", /*axis=*/-1);
    loss.backward();
    optim::clip_grad_norm(gpt.parameters(), 1.0);
    optimizer.step();
    optimizer.zero_grad();
    const double value = loss.item();
    first = step == 0 ? value : first;
    recent = step == 0 ? value : 0.95 * recent + 0.05 * value;
    if (step % 50 == 0 || step + 1 == steps) {
      std::cout << "step " << step << "  length " << length << "  loss " << value << "\n";
    }
  }
  const int64_t programs = realization_counts().compiles - compiles;
  std::cout << "one program for all lengths: compiled " << programs << " time(s)\n"
            << continued(gpt, text, "The joiner ", 60) << "\n";
  return recent < 0.6 * first && programs == 1 ? 0 : 1;
}
