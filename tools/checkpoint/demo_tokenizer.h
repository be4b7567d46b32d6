#ifndef OMNI_TOOLS_CHECKPOINT_DEMO_TOKENIZER_H_
#define OMNI_TOOLS_CHECKPOINT_DEMO_TOKENIZER_H_

#include <string>

namespace omni {

// The text of a tokenizer.json in the format of Qwen3.5's, with its normalizer,
// its pre-tokenizer pattern and the added tokens of its chat frame, over a
// small vocabulary: ids 0 to 255 are the bytes in the order of the byte-level
// alphabet ("A" to "Z" are 32 to 57 as in the published file), then come merges
// learned from a list of words, then the added tokens. Every call gives the
// same text; there are at most 512 ids.
std::string DemoTokenizerJson();

}  // namespace omni

#endif  // OMNI_TOOLS_CHECKPOINT_DEMO_TOKENIZER_H_
