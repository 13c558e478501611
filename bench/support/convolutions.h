// Convolutions inside of a model, against the machine's peak.
#pragma once

#include "support/report.h"

namespace bench {

/// Every different kernel of ResNet-50 that holds convolutions, as it runs in the whole model at batch 1 on one thread:
/// weights constant, images as the kernels leave them to each other. The peak is measured in the same rounds.
void measure_convolutions(Report& report);

}  // namespace bench
