//===- SelectGroups.cpp - which ops share a kernel --------------*- C++ -*-===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "ckpt/Transforms/SelectGroups.h"

#include "SelectViews.h"
#include "ckpt/Dialect/Ckpt/IR/CkptAttrs.h"
#include "ckpt/Dialect/Ckpt/IR/LowRank.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ckpt;

namespace {
/// A group that may still grow.
struct Growing : Group {
  /// The shape that every element-wise member has.
  ArrayRef<StringAttr> shape;
  /// gemm: the value that the next op of the epilogue must read.
  Value latest;
  /// row_wise: holds a norm or its backward.
  bool reducesRows = false;
  /// Takes no element-wise ops: attention, sums and copies.
  bool closed = false;
};

class Grouper {
public:
  Grouper(Block &block, bool keepScopes)
      : block(block), keepScopes(keepScopes), taken(findTakenViews(block)) {}

  SmallVector<Group> run();

private:
  void startSum(Operation *op);
  void placeNext(Operation *op);
  bool placeIntoProducer(Operation *op);
  bool placeConcat(ConcatOp op);
  bool placeReshape(ReshapeOp op);
  bool placeLowRank(Operation *op);
  bool canJoin(Operation *op, unsigned group);
  bool dependsOn(Value value, unsigned group);
  Value throughCasts(Value value);
  unsigned start(Operation *anchor, KernelClass kernelClass, bool closed);
  void add(Operation *op, unsigned group);
  SmallVector<Group> inOrder();

  bool isGrouped(Operation *op) { return op && groupOf.count(op); }

  Block &block;
  bool keepScopes;
  DenseSet<Operation *> taken;
  SmallVector<Growing> groups;
  DenseMap<Operation *, unsigned> groupOf;
};
} // namespace

static ArrayRef<StringAttr> dimsOf(Value value) {
  return cast<ckpt::TensorType>(value.getType()).getDims();
}

static bool isRowOp(Operation *op) {
  return isElementwise(op) || isRowReduction(op) ||
         isa<RopeOp, NormalizeOp>(op);
}

bool ckpt::isFusible(Operation *op) {
  return isRowOp(op) || isContraction(op) || isSum(op) || isView(op) ||
         isa<SdpaOp, SdpaDxOp, ConcatOp, PadOp>(op);
}

/// Whether a kernel reads operand `index` of `op` at the element (or in the
/// row) of the result that it computes.
static bool isRowOperand(Operation *op, unsigned index) {
  if (isa<LayerNormDxOp, RmsNormDxOp>(op))
    return index < 2;
  return isElementwise(op) || index == 0;
}

unsigned Grouper::start(Operation *anchor, KernelClass kernelClass,
                        bool closed) {
  Growing group;
  group.kernelClass = kernelClass;
  group.anchor = anchor;
  group.shape = dimsOf(anchor->getResult(0));
  group.closed = closed;
  groups.push_back(group);
  add(anchor, groups.size() - 1);
  return groups.size() - 1;
}

/// Adds `op` and the views and casts that it reads through.
void Grouper::add(Operation *op, unsigned index) {
  Growing &group = groups[index];
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp())
      if (taken.contains(def) && !isGrouped(def))
        add(def, index);
  group.ops.push_back(op);
  groupOf[op] = index;
  if (group.kernelClass == KernelClass::Gemm && !taken.contains(op))
    group.latest = op->getResult(0);
  if (isRowReduction(op)) {
    group.reducesRows = true;
    group.anchor = op;
  }
}

Value Grouper::throughCasts(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!taken.contains(def) || !isWideningCast(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// Whether `value` cannot be made before `group` runs. Kernels run as a whole,
/// so one member's need is every member's.
bool Grouper::dependsOn(Value value, unsigned group) {
  SmallVector<Value> work = {value};
  DenseSet<Operation *> seen;
  auto visit = [&](Operation *op) {
    if (seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  };
  while (!work.empty()) {
    Operation *def = work.pop_back_val().getDefiningOp();
    if (!def)
      continue;
    auto it = groupOf.find(def);
    if (it == groupOf.end()) {
      visit(def);
      continue;
    }
    if (it->second == group)
      return true;
    for (Operation *member : groups[it->second].ops)
      visit(member);
  }
  return false;
}

/// A wide value that an epilogue would store where its reader, in another
/// kernel, could as well widen the narrow one: no save or result wants it, and
/// no later op of the epilogue narrows it again.
static bool staysWide(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (isa<SaveOp, YieldOp>(reader))
      return false;
    if (!isElementwise(reader) || dimsOf(reader->getResult(0)) != dimsOf(value))
      return true;
    value = reader->getResult(0);
    if (!cast<ckpt::TensorType>(value.getType()).getElementType().isF32())
      return false;
  }
  return false;
}

bool Grouper::canJoin(Operation *op, unsigned index) {
  const Growing &group = groups[index];
  bool gemm = group.kernelClass == KernelClass::Gemm;
  if (group.closed || group.shape != dimsOf(op->getResult(0)))
    return false;
  if (gemm ? !isElementwise(op) : isRowReduction(op) && group.reducesRows)
    return false;
  if (keepScopes && op->getAttr("scope") != group.anchor->getAttr("scope"))
    return false;
  bool readsLatest = false, widens = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = throughCasts(operand.get());
    Operation *def = value.getDefiningOp();
    if (isGrouped(def) && groupOf[def] == index) {
      if (!isRowOperand(op, operand.getOperandNumber()) ||
          dimsOf(value) != group.shape)
        return false;
      readsLatest |= value == group.latest;
      widens |= value == group.latest && value != operand.get();
    } else if (dependsOn(operand.get(), index)) {
      return false;
    }
  }
  if (!gemm)
    return true;
  return readsLatest && !(widens && staysWide(op->getResult(0)));
}

/// Joins the latest of the groups that make an operand, if one may.
bool Grouper::placeIntoProducer(Operation *op) {
  SmallVector<Operation *> producers;
  for (Value operand : op->getOperands()) {
    Operation *def = throughCasts(operand).getDefiningOp();
    if (isGrouped(def))
      producers.push_back(def);
  }
  llvm::sort(producers,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *producer : producers) {
    unsigned group = groupOf[producer];
    if (!canJoin(op, group))
      continue;
    add(op, group);
    return true;
  }
  return false;
}

/// dq, dk and dv side by side, straight from the attention backward.
bool Grouper::placeConcat(ConcatOp op) {
  SetVector<Value> sources;
  Operation *producer = nullptr;
  for (Value input : op.getInputs()) {
    Value value = input;
    while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      if (!taken.contains(reshape))
        return false;
      value = reshape.getX();
    }
    Operation *def = value.getDefiningOp();
    if (!isa_and_nonnull<SdpaDxOp>(def) || (producer && producer != def))
      return false;
    producer = def;
    sources.insert(value);
  }
  if (op.getInputs().size() != 3 || sources.size() != 3)
    return false;
  add(op, groupOf[producer]);
  return true;
}

/// A reshape that nobody can read through: how its producer's result is typed.
bool Grouper::placeReshape(ReshapeOp op) {
  Operation *def = op.getX().getDefiningOp();
  if (!isGrouped(def) || !op.getX().hasOneUse())
    return false;
  unsigned group = groupOf[def];
  add(op, group);
  // Its other readers see the reshaped value, so nothing more joins.
  groups[group].closed = true;
  return true;
}

/// Beside the product that it is added to, which may stand behind it.
bool Grouper::placeLowRank(Operation *op) {
  Operation *product = productBeside(op);
  if (!product ||
      (keepScopes && op->getAttr("scope") != product->getAttr("scope")))
    return false;
  if (!isGrouped(product))
    start(product, KernelClass::Gemm, /*closed=*/false);
  unsigned group = groupOf[product];
  if (groups[group].anchor != product ||
      llvm::any_of(op->getOperands(),
                   [&](Value operand) { return dependsOn(operand, group); }))
    return false;
  add(op, group);
  groups[group].latest = product->getResult(0);
  return true;
}

void Grouper::placeNext(Operation *op) {
  if (isContraction(op) && placeLowRank(op))
    return;
  if (isContraction(op))
    start(op, KernelClass::Gemm, /*closed=*/false);
  else if (isa<SdpaOp>(op))
    start(op, KernelClass::AttentionForward, /*closed=*/true);
  else if (isa<SdpaDxOp>(op))
    start(op, KernelClass::AttentionBackward, /*closed=*/true);
  else if (isRowOp(op) && !placeIntoProducer(op))
    start(op, KernelClass::RowWise, /*closed=*/false);
  else if (auto concat = dyn_cast<ConcatOp>(op); concat && !placeConcat(concat))
    start(op, KernelClass::RowWise, /*closed=*/true);
  else if (auto reshape = dyn_cast<ReshapeOp>(op);
           reshape && !placeReshape(reshape))
    start(op, KernelClass::RowWise, /*closed=*/true);
  else if (isa<SliceOp, TransposeOp, PadOp>(op))
    start(op, KernelClass::RowWise, /*closed=*/true);
}

/// A sum takes the ops before it that nobody else reads, so that what is summed
/// is never stored.
void Grouper::startSum(Operation *op) {
  Value summed = op->getOperand(op->getNumOperands() - 1);
  ArrayRef<StringAttr> shape = dimsOf(summed);
  unsigned group = start(op, KernelClass::RowWise, /*closed=*/true);
  auto readHereOnly = [&](Operation *candidate) {
    return llvm::all_of(candidate->getUsers(), [&](Operation *reader) {
      return isGrouped(reader) && groupOf[reader] == group && !isView(reader);
    });
  };
  for (Operation *it = op->getPrevNode(); it; it = it->getPrevNode()) {
    bool fits = (isElementwise(it) || isa<RopeOp, NormalizeOp>(it)) &&
                !taken.contains(it) && !isGrouped(it) &&
                dimsOf(it->getResult(0)) == shape && readHereOnly(it);
    if (fits && (!keepScopes || it->getAttr("scope") == op->getAttr("scope")))
      add(it, group);
  }
}

/// Kernels in the order of their last ops where dependences allow.
SmallVector<Group> Grouper::inOrder() {
  for (Growing &group : groups)
    llvm::sort(group.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  SmallVector<DenseSet<unsigned>> before(groups.size());
  for (auto [index, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (isGrouped(def) && groupOf[def] != index)
          before[index].insert(groupOf[def]);
      }
  SmallVector<Group> order;
  SmallVector<bool> done(groups.size(), false);
  while (order.size() < groups.size()) {
    std::optional<unsigned> next;
    for (unsigned i = 0; i < groups.size(); ++i) {
      if (done[i] ||
          llvm::any_of(before[i], [&](unsigned j) { return !done[j]; }))
        continue;
      if (!next ||
          groups[i].ops.back()->isBeforeInBlock(groups[*next].ops.back()))
        next = i;
    }
    assert(next && "groups depend on one another");
    done[*next] = true;
    order.push_back(groups[*next]);
  }
  return order;
}

SmallVector<Group> Grouper::run() {
  for (Operation &op : block)
    if (isSum(&op))
      startSum(&op);
  for (Operation &op : block)
    if (!taken.contains(&op) && !isGrouped(&op))
      placeNext(&op);
  return inOrder();
}

SmallVector<Group> ckpt::groupOps(Block &block, bool keepScopes) {
  return Grouper(block, keepScopes).run();
}
