// Whether a disk has room, asked before a library writes that cannot fail in good order.
#pragma once

#include <cstdint>
#include <string>

namespace tautline::formats {

/// Takes `bytes` in a file of its own in `folder` and gives them back at once. Returns 0, or the
/// errno that says why there is no room (ENOSPC, EDQUOT). File systems that cannot reserve are
/// asked how much is free.
int probe_free_space(const std::string& folder, std::uint64_t bytes);

}  // namespace tautline::formats
