// `ckpt.size`: one case for each constraint.
//
// RUN: ckpt-opt %s --split-input-file --verify-diagnostics

// size_c1: the name of an element type.
// expected-error @below {{'ckpt.size' op expected a name of letters, digits and '_' that is not x, f32, bf16 or f16, got 'bf16'}}
ckpt.size @bf16

// -----

// size_c1: the separator of extents.
// expected-error @below {{'ckpt.size' op expected a name of letters, digits and '_' that is not x, f32, bf16 or f16, got 'x'}}
ckpt.size @x

// -----

// size_c1: not a word.
// expected-error @below {{'ckpt.size' op expected a name of letters, digits and '_' that is not x, f32, bf16 or f16, got 'my size'}}
ckpt.size @"my size"

// -----

// size_c2: no tokens.
// expected-error @below {{'ckpt.size' op expected a positive default, got 0}}
ckpt.size @image default 0

// -----

// Twice the same name.
// expected-note @below {{see existing symbol definition here}}
ckpt.size @image
// expected-error @below {{redefinition of symbol named 'image'}}
ckpt.size @image
