console.log('end');
