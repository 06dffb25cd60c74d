//===- PinnedPoolTest.cpp - host memory for offloaded values --------------===//
//
// Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//

#include "Device/PinnedPool.h"
#include "Device/Host/HostDevice.h"

#include <gtest/gtest.h>

using namespace ckpt::rt;

namespace {
struct PinnedPoolTest : ::testing::Test {
  HostBuffer take(PinnedPool &pool, int64_t bytes, bool pinned = true) {
    Result<HostBuffer> buffer = pool.acquire(bytes, pinned);
    EXPECT_TRUE(buffer.ok());
    return buffer.ok() ? *buffer : HostBuffer{};
  }
  HostDevice device;
};
} // namespace

/// Field case M1: eight boundaries of 36 MiB + 1 byte take exactly that, where
/// rounding to a power of two would take 512 MiB.
TEST_F(PinnedPoolTest, NothingIsRoundedUp) {
  const int64_t bytes = 36 * 1024 * 1024 + 1;
  PinnedPool pool(device);
  std::vector<HostBuffer> buffers;
  for (int i = 0; i < 8; ++i)
    buffers.push_back(take(pool, bytes));
  EXPECT_EQ(pool.statistics().pinnedBytes, 8 * bytes);
  EXPECT_EQ(device.ledger.pinned, 8 * bytes);
  EXPECT_EQ(pool.statistics().buckets, 1);
  for (const HostBuffer &buffer : buffers)
    pool.release(buffer);
}

TEST_F(PinnedPoolTest, BuffersComeBackByExactSizeAndKind) {
  PinnedPool pool(device);
  HostBuffer a = take(pool, 1000);
  pool.release(a);
  // Another size, and the same size pageable, are other buckets.
  HostBuffer b = take(pool, 999), c = take(pool, 1000, false);
  EXPECT_NE(b.data, a.data);
  EXPECT_NE(c.data, a.data);
  EXPECT_FALSE(c.pinned);
  HostBuffer again = take(pool, 1000);
  EXPECT_EQ(again.data, a.data);
  PoolStatistics counts = pool.statistics();
  EXPECT_EQ(counts.hits, 1);
  EXPECT_EQ(counts.misses, 3);
  EXPECT_EQ(counts.buckets, 2);
  EXPECT_EQ(counts.pinnedBytes, 1999);
  EXPECT_EQ(counts.pageable, 1);
  EXPECT_EQ(counts.pageableBytes, 1000);
  EXPECT_EQ(counts.fallbacks, 0);
  for (const HostBuffer &buffer : {again, b, c})
    pool.release(buffer);
}

/// Field case M3: constant over steps, nothing after.
TEST_F(PinnedPoolTest, SteadyStateAllocatesNothingAndAllGoesAtTheEnd) {
  {
    PinnedPool pool(device);
    for (int step = 0; step < 300; ++step) {
      HostBuffer a = take(pool, 64), b = take(pool, 64),
                 c = take(pool, 32 + step % 3, step % 2);
      for (const HostBuffer &buffer : {a, b, c})
        pool.release(buffer);
    }
    EXPECT_EQ(pool.statistics().misses, 2 + 6);
    EXPECT_EQ(pool.statistics().hits, 3 * 300 - 8);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

/// Field case X1's cause: a buffer given back while its copy is under way is
/// not lent until the copy is done.
TEST_F(PinnedPoolTest, BufferWaitsForItsLastCopy) {
  PinnedPool pool(device);
  auto stream = device.createStream({}), gate = device.createStream({});
  auto opened = device.createEvent(), made = device.createEvent();
  ASSERT_TRUE(stream.ok() && gate.ok() && opened.ok() && made.ok());
  std::shared_ptr<Event> copied = std::move(*made);
  // The gate stream stays in its kernel until the test opens it.
  std::atomic<bool> open{false};
  device.registerKernel("gate", [&](void *const *, const int64_t *, void *) {
    while (!open)
      sched_yield();
  });
  auto program = std::make_shared<Program>();
  program->target = "host";
  auto module = device.loadModule(program);
  ASSERT_TRUE(module.ok());
  Kernel kernel;
  kernel.symbol = "gate";
  Launch launch;
  launch.kernel = *(*module)->find(kernel, {}, {});
  ASSERT_TRUE((*gate)->launch(launch).ok());
  ASSERT_TRUE((*gate)->record(**opened).ok());

  char source[128] = {};
  HostBuffer a = take(pool, 128);
  ASSERT_TRUE((*stream)->wait(**opened).ok());
  ASSERT_TRUE((*stream)->copyToHost(a.data, source, 128).ok());
  ASSERT_TRUE((*stream)->record(*copied).ok());
  pool.release(a, copied);
  HostBuffer b = take(pool, 128);
  EXPECT_NE(b.data, a.data);
  open = true;
  ASSERT_TRUE((*stream)->synchronise().ok());
  HostBuffer c = take(pool, 128);
  EXPECT_EQ(c.data, a.data);
  EXPECT_EQ(pool.statistics().misses, 2);
  EXPECT_EQ(pool.statistics().hits, 1);
  pool.release(b);
  pool.release(c);
}

TEST_F(PinnedPoolTest, FailedPinningFallsBackAndIsCounted) {
  {
    PinnedPool pool(device);
    device.faults.pinnedAllocation.set(2);
    HostBuffer a = take(pool, 256), b = take(pool, 256), c = take(pool, 256);
    EXPECT_TRUE(a.pinned);
    EXPECT_FALSE(b.pinned);
    EXPECT_TRUE(b.wantPinned);
    EXPECT_TRUE(c.pinned);
    PoolStatistics counts = pool.statistics();
    EXPECT_EQ(counts.fallbacks, 1);
    EXPECT_EQ(counts.pageable, 1);
    EXPECT_EQ(counts.pageableBytes, 256);
    EXPECT_EQ(counts.pinnedBytes, 512);
    EXPECT_EQ(device.ledger.pinned, 512);
    EXPECT_EQ(device.ledger.pageable, 256);
    // The stand-in serves its bucket: no second attempt in every step.
    for (const HostBuffer &buffer : {a, b, c})
      pool.release(buffer);
    for (int i = 0; i < 3; ++i)
      take(pool, 256);
    EXPECT_EQ(pool.statistics().fallbacks, 1);
    EXPECT_EQ(pool.statistics().misses, 3);
    for (const HostBuffer &buffer : {a, b, c})
      pool.release(buffer);
  }
  EXPECT_EQ(device.ledger.pinned, 0);
  EXPECT_EQ(device.ledger.pageable, 0);
}

TEST_F(PinnedPoolTest, NoMemoryAtAllIsAnErrorAndThePoolGoesOn) {
  PinnedPool pool(device);
  device.faults.pinnedAllocation.set(1);
  device.faults.pageableAllocation.set(1);
  Result<HostBuffer> failed = pool.acquire(77, true);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("77"), std::string::npos);
  HostBuffer next = take(pool, 77);
  EXPECT_TRUE(next.pinned);
  EXPECT_EQ(pool.statistics().misses, 1);
  // A fallback is a buffer that was made; here none was.
  EXPECT_EQ(pool.statistics().fallbacks, 0);
  pool.release(next);
}
