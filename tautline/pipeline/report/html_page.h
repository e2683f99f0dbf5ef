// Puts a page of web/ with its scripts, styles, chart library and messages into one HTML file.
#pragma once

#include <string>
#include <vector>

namespace tautline::pipeline::report {

/// Which files of web/ make a page.
enum class PageKind { visibilities, candidates, fit, figure, monitor };

/// A self-contained page that feeds `messages` (JSON texts) to itself. Nothing in it refers to
/// anything outside; its content policy forbids the browser to fetch anything.
std::string compose_page(const std::string& title, const std::vector<std::string>& messages,
                         PageKind kind = PageKind::visibilities);

/// Writes `content` beside `path` and renames it when complete. Throws Error(io) with the path and
/// the reason, and leaves nothing half-written; an existing file is refused unless `overwrite`.
void write_page(const std::string& path, const std::string& content, bool overwrite);

}  // namespace tautline::pipeline::report
