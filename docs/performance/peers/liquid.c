/* Voltages in a DADA file to channels in a file of floats, by liquid-dsp's polyphase filter bank, on threads that share
 * the inputs. `liquid IN OUT INPUTS CHANNELS TAPS THREADS`; IN holds bytes [time][input][re, im] after 4,096 bytes of
 * header, and OUT gets [spectrum][input][channel]. Prints the seconds that the filter banks took. */
#include <complex.h>
#include <fcntl.h>
#include <liquid/liquid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kHeader = 4096, kBlock = 64 };

static const int8_t* samples;
static float complex* spectra;
static size_t inputs, channels, taps, threads, frames, begin_frame, block_frames;
static firpfbch_crcf* banks;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A block of frames of every threads-th input. */
static void* work(void* argument) {
  float complex* frame = malloc(channels * sizeof *frame);
  for (size_t i = (size_t)argument; i < inputs; i += threads)
    for (size_t f = 0; f < block_frames; ++f) {
      const int8_t* from = samples + 2 * ((begin_frame + f) * channels * inputs + i);
      for (size_t c = 0; c < channels; ++c, from += 2 * inputs)
        frame[c] = (float)from[0] + I * (float)from[1];
      firpfbch_crcf_analyzer_execute(banks[i], frame, spectra + (f * inputs + i) * channels);
    }
  free(frame);
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 7) return 1;
  inputs = strtoul(arguments[3], NULL, 10);
  channels = strtoul(arguments[4], NULL, 10);
  taps = strtoul(arguments[5], NULL, 10);
  threads = strtoul(arguments[6], NULL, 10);
  const int from = open(arguments[1], O_RDONLY), to = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  struct stat about;
  if (from < 0 || to < 0 || fstat(from, &about) != 0) return 1;
  const char* file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, from, 0);
  if (file == MAP_FAILED) return 1;
  samples = (const int8_t*)file + kHeader;
  frames = ((size_t)about.st_size - kHeader) / (2 * inputs * channels);
  spectra = malloc(kBlock * inputs * channels * sizeof *spectra);
  banks = malloc(inputs * sizeof *banks);
  for (size_t i = 0; i < inputs; ++i)
    banks[i] = firpfbch_crcf_create_kaiser(LIQUID_ANALYZER, (unsigned)channels, (unsigned)taps / 2, 60.0f);
  double filter_s = 0;
  pthread_t* running = malloc(threads * sizeof *running);
  for (begin_frame = 0; begin_frame < frames; begin_frame += block_frames) {
    block_frames = frames - begin_frame < kBlock ? frames - begin_frame : kBlock;
    const double start_s = now_s();
    for (size_t t = 1; t < threads; ++t) pthread_create(&running[t], NULL, work, (void*)t);
    work((void*)0);
    for (size_t t = 1; t < threads; ++t) pthread_join(running[t], NULL);
    filter_s += now_s() - start_s;
    const size_t bytes = block_frames * inputs * channels * sizeof *spectra;
    if (write(to, spectra, bytes) != (ssize_t)bytes) return 1;
  }
  printf("%.6f\n", filter_s);
  return close(to);
}
