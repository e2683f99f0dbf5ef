#include <cstdio>
int main() {
  std::puts("tautline " TAUTLINE_VERSION);
  return 0;
}
