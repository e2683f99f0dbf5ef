# Comments of // before a declaration are its description, too; not that which a header begins with.
/^#pragma once/ { inside = 1 }
inside && /^ *\/\/ / { sub(/\/\/ /, "/// ") }
# Breathe cannot parse a lambda that a member begins with.
/^ .* = \[.*\{.*\};/ { sub(/ = \[.*\{.*\};/, ";") }
{ print }
