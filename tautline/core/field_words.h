// Texts of the library in the words of those who read them.
#pragma once

#include <functional>
#include <string>

namespace tautline::core {

/// A text that names fields between backquotes, in a caller's words: the command's are its options. None: as it is.
using FieldWords = std::function<std::string(const std::string&)>;

inline std::string said_in(const FieldWords& words, const std::string& text) {
  return words ? words(text) : text;
}

}  // namespace tautline::core
