// Numbers of bytes as text for users.
#pragma once

#include <cstddef>
#include <string>

namespace tautline::core {

/// "512 bytes", "3.2 KiB" below a tenth of a MiB, else "1.5 MiB".
std::string byte_text(std::size_t bytes);

}  // namespace tautline::core
