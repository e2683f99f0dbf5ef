// Becker & Hickl's .spc: photons of the FIFO modes of SPC-130, 140, 150, 160, 180, 830 and related modules, 32 bits a
// record. The formats of SPC-600 and 630 (48 bits), DPC-230 and SPC-QC are not read.
//
// | bits of a record | 31      | 30       | 29  | 28     | 27 to 16 | 15 to 12         | 11 to 0    |
// |                  | invalid | overflow | gap | marker | ADC      | routing, markers | macro time |
//
// Overflow and invalid without marker: no photon; bits 27 to 0 are the number of overflows of the macro time (4,096
// each). Overflow alone: one overflow before this photon. Invalid alone: no photon, its detector is not known. Gap: the
// module's memory was full before this record; photons are lost. The ADC runs backwards: microtime = 4095 - ADC.
// The first record is the header: bits 23 to 0 the macro time's unit in 0.1 ns, bits 30 to 27 the number of routing
// bits, bit 31 set, bit 26 raw data of the module (diagnostic mode), bit 25 markers.
// The .set file beside it has the time range of the ADC as text: #SP [SP_TAC_R,F,5.0e-008] over #SP [SP_TAC_G,I,4].
// Source: the TCSPC Handbook of Becker & Hickl, chapter on data files.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/photon_reader.h"

namespace tautline::formats::spc {

/// Recognised by the name: no bytes of the format identify it.
bool recognise(const std::string& name);

/// Throws Error(format) for a missing header record, raw data and a clock of 0, and where a quarter of 1,000 records or
/// more are gaps. The unit of microtimes comes from a .set file of the same name; without that file they have none, and
/// the description names it. Gaps are counted as damage, invalid photons as unknown records.
std::unique_ptr<PhotonReader> open(const std::string& path);

}  // namespace tautline::formats::spc
