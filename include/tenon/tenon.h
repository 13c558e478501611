// All of the public API.
#pragma once

#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/constraint.h"
#include "tenon/dtype.h"
#include "tenon/error.h"
#include "tenon/extent.h"
#include "tenon/graph.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"
#include "tenon/shape.h"
#include "tenon/text.h"
